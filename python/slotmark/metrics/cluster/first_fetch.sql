SELECT '' AS setting, block_no, CAST(ns / 1e9 AS DOUBLE) AS value
FROM (
    SELECT block_no, MIN(noticed_ns + requested_ns + fetched_ns) AS ns FROM observations
    GROUP BY block_no)
