SELECT setting, round, CAST(blocks AS DOUBLE) * 1e9 / elapsed_ns AS value
FROM invocations
WHERE NOT warmup
ORDER BY setting NULLS FIRST, round NULLS FIRST
