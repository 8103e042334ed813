SELECT setting, round, CAST(bytes AS DOUBLE) * 1e3 / elapsed_ns AS value
FROM invocations
WHERE NOT warmup
ORDER BY setting NULLS FIRST, round NULLS FIRST
