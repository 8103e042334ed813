-- One row per traced block, host that adopted it, and step of the path by which it came: which it is, on which hop, on which host it took
-- place, from which host what it waited for came (null of a step of one host), and how long it took in ns. Hop 0 is the forging. The steps
-- of a block and host add up to the time from the slot's start to its adoption, to the nanosecond; where the logs don't have all of them,
-- the block and host are left out. Where the forger's log has no start of the forge loop, all until the leadership is one step, from the
-- slot's start on.
WITH forging AS (
    SELECT
        block.block,
        block.forger,
        UNNEST([
            {
                'step': 0,
                'stage': 'slot start to leadership',
                'ns': CASE
                    WHEN block.started_ns IS NULL
                        THEN
                            own.forged_ts_ns - block.slot_start_ns
                            - COALESCE(block.ticked_ns, 0) - COALESCE(block.snapshot_ns, 0) - block.forged_ns
                END
            },
            {'step': 1, 'stage': 'forge loop start', 'ns': block.started_ns},
            {'step': 2, 'stage': 'block context', 'ns': block.context_ns},
            {'step': 3, 'stage': 'ledger state', 'ns': CASE WHEN block.started_ns IS NOT NULL THEN block.state_ns END},
            {'step': 4, 'stage': 'ledger view', 'ns': CASE WHEN block.started_ns IS NOT NULL THEN block.view_ns END},
            {'step': 5, 'stage': 'leadership check', 'ns': CASE WHEN block.started_ns IS NOT NULL THEN block.leading_ns END},
            {'step': 6, 'stage': 'ledger tick', 'ns': block.ticked_ns},
            {'step': 7, 'stage': 'mempool snapshot', 'ns': block.snapshot_ns},
            {'step': 8, 'stage': 'forging', 'ns': block.forged_ns}
        ], recursive := TRUE)
    FROM traced_blocks AS traced
    INNER JOIN blocks AS block ON block.block = traced.block
    LEFT JOIN sightings AS own ON own.block = block.block AND own.host = block.forger
),

forged AS (
    SELECT block, SUM(ns) AS ns FROM forging GROUP BY block
),

hopping AS (
    SELECT
        block,
        host,
        hop,
        UNNEST([
            {'step': 9, 'stage': 'arrival to announced', 'at_host': from_host, 'from_host': NULL, 'ns': announced_ns},
            {'step': 10, 'stage': 'header on its way', 'at_host': to_host, 'from_host': from_host, 'ns': noticed_ns},
            {'step': 11, 'stage': 'notice to request', 'at_host': to_host, 'from_host': NULL, 'ns': requested_ns},
            {'step': 12, 'stage': 'fetch', 'at_host': to_host, 'from_host': from_host, 'ns': fetched_ns}
        ], recursive := TRUE)
    FROM paths
),

hopped AS (
    SELECT
        block,
        host,
        MAX(hop) AS hops,
        COALESCE(SUM(announced_ns), 0) + COALESCE(SUM(noticed_ns), 0) + COALESCE(SUM(requested_ns), 0) + COALESCE(SUM(fetched_ns), 0) AS ns
    FROM paths
    GROUP BY block, host
),

complete AS (
    SELECT
        seen.block,
        seen.block_no,
        seen.host,
        seen.place,
        seen.hosts,
        COALESCE(hopped.hops, 0) AS hops,
        own.adopted_ts_ns - COALESCE(hop.fetched_ts_ns, own.forged_ts_ns) AS arrived_ns
    FROM adoptions AS seen
    INNER JOIN forged ON forged.block = seen.block
    INNER JOIN sightings AS own ON own.block = seen.block AND own.host = seen.host
    LEFT JOIN hopped ON hopped.block = seen.block AND hopped.host = seen.host
    LEFT JOIN hops AS hop ON hop.block = seen.block AND hop.host = seen.host AND own.forged_ts_ns IS NULL
    WHERE COALESCE(forged.ns, 0) + COALESCE(hopped.ns, 0) + COALESCE(arrived_ns, 0) = seen.adopted_ns
),

steps AS (
    SELECT complete.*, 0 AS hop, forging.forger AS at_host, NULL AS from_host, forging.step, forging.stage, forging.ns
    FROM complete
    INNER JOIN forging ON forging.block = complete.block
    UNION ALL
    SELECT complete.*, hopping.hop, hopping.at_host, hopping.from_host, hopping.step, hopping.stage, hopping.ns
    FROM complete
    INNER JOIN hopping ON hopping.block = complete.block AND hopping.host = complete.host
    UNION ALL
    SELECT complete.*, hops AS hop, host AS at_host, NULL AS from_host, 13 AS step, 'arrival to adopted' AS stage, arrived_ns AS ns
    FROM complete
)

-- There are millions of rows: in small types they take less memory.
SELECT
    block_no,
    host,
    CAST(place AS INTEGER) AS place,
    CAST(hosts AS INTEGER) AS hosts,
    CAST(hop AS INTEGER) AS hop,
    at_host,
    from_host,
    CAST(step AS UTINYINT) AS step,
    stage,
    ns
FROM steps
WHERE ns IS NOT NULL
