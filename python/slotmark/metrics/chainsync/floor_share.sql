SELECT setting, round, 100 * (CAST(blocks AS DOUBLE) / elapsed_ns) / (CAST(floor_blocks AS DOUBLE) / floor_elapsed_ns) AS value
FROM invocations
WHERE NOT warmup AND floor_elapsed_ns IS NOT NULL
ORDER BY setting NULLS FIRST, round NULLS FIRST
