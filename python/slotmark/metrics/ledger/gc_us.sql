SELECT '' AS setting, run, slot, CAST(gc_us AS DOUBLE) AS value
FROM blocks
WHERE gc_us IS NOT NULL
ORDER BY run NULLS FIRST, slot NULLS FIRST
