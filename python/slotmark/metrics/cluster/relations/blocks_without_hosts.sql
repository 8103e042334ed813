-- One row per block of the chain in the analysed slots that some host of the cluster has no sample of: the number of those hosts, and their names, as
-- text. They are every host without a log, every one whose log has no adoption of any block, and of the others those whose log ended, had not begun, or has a
-- hole in the block's slot, without an adoption of it.
WITH missing AS (
    SELECT COALESCE(LIST(name ORDER BY name), []) AS names FROM missing_hosts
),

outside AS (
    SELECT DISTINCT verdict.block
    FROM block_verdicts AS verdict
    INNER JOIN filters ON filters.place = verdict.place
    WHERE
        NOT verdict.passes
        AND filters.tag IN (
            'SlotGEq', 'SlotLEq', 'EpochGEq', 'EpochLEq', 'EpochSafeIntGEq', 'EpochSafeIntLEq', 'EpSlotGEq', 'EpSlotLEq'
        )
),

inside AS (
    SELECT block.block, block.block_no, block.slot, block.slot_start_ns, block.forger, block.accepted
    FROM blocks AS block
    WHERE NOT EXISTS (SELECT 1 FROM outside WHERE outside.block = block.block)
),

not_logging AS (
    SELECT block.block, hosts.host
    FROM inside AS block
    CROSS JOIN genesis
    INNER JOIN hosts
        ON
            COALESCE(hosts.last_ts_ns, 0) < block.slot_start_ns + genesis.slot_ns
            OR hosts.first_ts_ns > block.slot_start_ns + genesis.slot_ns
    UNION
    SELECT block.block, holes.host
    FROM inside AS block
    INNER JOIN log_holes AS holes ON block.slot BETWEEN holes.first_slot AND holes.last_slot
    UNION
    SELECT block.block, hosts.host
    FROM inside AS block
    CROSS JOIN hosts
    WHERE NOT EXISTS (SELECT 1 FROM sightings AS seen WHERE seen.host = hosts.host AND seen.adopted_ts_ns IS NOT NULL)
),

unseen AS (
    SELECT gone.block, LIST(CAST(gone.host AS VARCHAR) ORDER BY gone.host) AS names
    FROM not_logging AS gone
    WHERE
        NOT EXISTS (
            SELECT 1 FROM sightings AS seen WHERE seen.block = gone.block AND seen.host = gone.host AND seen.adopted_ts_ns IS NOT NULL
        )
    GROUP BY gone.block
)

SELECT
    block.block,
    block.block_no,
    block.slot,
    block.forger,
    block.accepted,
    LEN(missing.names || COALESCE(unseen.names, [])) AS lacking,
    ARRAY_TO_STRING(LIST_SORT(missing.names || COALESCE(unseen.names, [])), ', ') AS without
FROM inside AS block
CROSS JOIN missing
LEFT JOIN unseen ON unseen.block = block.block
WHERE LEN(missing.names) > 0 OR unseen.block IS NOT NULL
