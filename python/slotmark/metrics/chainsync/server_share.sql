SELECT setting, round, 100 * CAST(server_cpu_ns AS DOUBLE) / elapsed_ns AS value
FROM invocations
WHERE NOT warmup AND server_cpu_ns IS NOT NULL
ORDER BY setting NULLS FIRST, round NULLS FIRST
