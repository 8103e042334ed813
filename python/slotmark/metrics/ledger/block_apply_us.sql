SELECT '' AS setting, run, slot, CAST(block_apply_us AS DOUBLE) AS value
FROM blocks
WHERE block_apply_us IS NOT NULL
ORDER BY run NULLS FIRST, slot NULLS FIRST
