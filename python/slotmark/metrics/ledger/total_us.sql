SELECT '' AS setting, run, slot, CAST(total_us AS DOUBLE) AS value
FROM blocks
WHERE total_us IS NOT NULL
ORDER BY run NULLS FIRST, slot NULLS FIRST
