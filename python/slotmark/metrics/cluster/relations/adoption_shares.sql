-- One row per accepted block: the share of the cluster's hosts that adopted it.
SELECT block_no, CAST(COUNT(*) AS DOUBLE) / MAX(hosts) AS share
FROM adoptions
GROUP BY block_no
