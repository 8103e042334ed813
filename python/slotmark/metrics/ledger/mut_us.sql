SELECT '' AS setting, run, slot, CAST(mut_us AS DOUBLE) AS value
FROM blocks
WHERE mut_us IS NOT NULL
ORDER BY run NULLS FIRST, slot NULLS FIRST
