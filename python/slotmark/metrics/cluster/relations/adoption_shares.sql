-- One row per block that shares are counted for and some host adopted: the share of the cluster's hosts that did.
SELECT
    block.block_no,
    CAST(COUNT(*) AS DOUBLE) / CASE WHEN method.published THEN COUNT(*) ELSE MAX(genesis.hosts) END AS share
FROM share_blocks AS block
INNER JOIN sightings AS seen ON seen.block = block.block
CROSS JOIN genesis
CROSS JOIN method
WHERE seen.adopted_ts_ns IS NOT NULL
GROUP BY block.block_no, method.published
