SELECT '' AS setting, run, slot, CAST(header_tick_us AS DOUBLE) AS value
FROM blocks
WHERE header_tick_us IS NOT NULL
ORDER BY run NULLS FIRST, slot NULLS FIRST
