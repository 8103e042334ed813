SELECT '' AS setting, block_no, CAST(share AS DOUBLE) AS value
FROM (
    SELECT block_no, CAST(COUNT(*) AS DOUBLE) / MAX(hosts) AS share FROM adoptions
    GROUP BY block_no)
