-- One row an accepted block and host that adopted it, the forger too: when, in ns since the slot's start, and its place among them.
SELECT
    block.block,
    block.block_no,
    block.slot,
    seen.host,
    seen.adopted_ts_ns - block.slot_start_ns AS adopted_ns,
    ROW_NUMBER() OVER (PARTITION BY block.block ORDER BY seen.adopted_ts_ns, seen.host) - 1 AS place,
    CASE WHEN method.published THEN COUNT(*) OVER (PARTITION BY block.block) ELSE genesis.hosts END AS hosts
FROM blocks AS block
INNER JOIN sightings AS seen ON seen.block = block.block
CROSS JOIN genesis
CROSS JOIN method
WHERE block.accepted AND seen.adopted_ts_ns IS NOT NULL
