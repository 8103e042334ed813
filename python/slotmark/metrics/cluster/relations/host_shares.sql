-- One row per block that shares are counted for and host that didn't forge it: whether the host adopted it, as 1 or 0.
SELECT
    block.block_no,
    hosts.host,
    CASE WHEN seen.adopted_ts_ns IS NOT NULL THEN 1.0 ELSE 0.0 END AS share
FROM share_blocks AS block
CROSS JOIN hosts
LEFT JOIN sightings AS seen ON seen.block = block.block AND seen.host = hosts.host
WHERE hosts.host <> block.forger
