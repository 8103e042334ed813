SELECT setting, round, CAST(client_voluntary_switches AS DOUBLE) / blocks AS value
FROM invocations
WHERE NOT warmup
ORDER BY setting NULLS FIRST, round NULLS FIRST
