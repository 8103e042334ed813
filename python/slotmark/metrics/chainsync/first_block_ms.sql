SELECT setting, round, CAST(first_block_ns AS DOUBLE) / 1e6 AS value
FROM invocations
WHERE NOT warmup
ORDER BY setting NULLS FIRST, round NULLS FIRST
