SELECT setting, round, CAST(startup_ns AS DOUBLE) / 1e6 AS value
FROM invocations
WHERE NOT warmup
ORDER BY setting NULLS FIRST, round NULLS FIRST
