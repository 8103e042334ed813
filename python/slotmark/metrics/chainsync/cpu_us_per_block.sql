SELECT setting, round, CAST(client_cpu_ns AS DOUBLE) / 1e3 / blocks AS value
FROM invocations
WHERE NOT warmup
ORDER BY setting NULLS FIRST, round NULLS FIRST
