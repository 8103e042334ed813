SELECT setting, round, CAST(client_peak_bytes AS DOUBLE) / 1e6 AS value
FROM invocations
WHERE NOT warmup
ORDER BY setting NULLS FIRST, round NULLS FIRST
