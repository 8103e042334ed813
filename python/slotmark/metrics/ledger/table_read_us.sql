SELECT '' AS setting, run, slot, CAST(table_read_us AS DOUBLE) AS value
FROM blocks
WHERE table_read_us IS NOT NULL
ORDER BY run NULLS FIRST, slot NULLS FIRST
