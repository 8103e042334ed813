SELECT '' AS setting, run, slot, CAST(forecast_us AS DOUBLE) AS value
FROM blocks
WHERE forecast_us IS NOT NULL
ORDER BY run NULLS FIRST, slot NULLS FIRST
