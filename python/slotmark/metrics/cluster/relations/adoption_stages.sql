-- One row an accepted block, host that adopted it, and step of the path by which it came: which it is, on which hop, on which host it took
-- place, from which host what it waited for came (null of a step of one host), and how long it took in ns. Hop 0 is the forging. The steps
-- of a block and host add up to the time from the slot's start to its adoption, to the nanosecond; where the logs don't tell all of them,
-- the block and host are left out. Where the forger's log has no start of the forge loop, all until the leadership is one step, from the
-- slot's start on.
WITH steps AS (
    SELECT
        seen.block,
        seen.host,
        0 AS hop,
        CAST(block.forger AS VARCHAR) AS from_host,
        CAST(block.forger AS VARCHAR) AS to_host,
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
    FROM adoptions AS seen
    INNER JOIN blocks AS block ON block.block = seen.block
    LEFT JOIN sightings AS own ON own.block = block.block AND own.host = block.forger
    UNION ALL
    SELECT
        block,
        host,
        hop,
        from_host,
        to_host,
        UNNEST([
            {'step': 9, 'stage': 'arrival to announced', 'ns': announced_ns},
            {'step': 10, 'stage': 'header on its way', 'ns': noticed_ns},
            {'step': 11, 'stage': 'notice to request', 'ns': requested_ns},
            {'step': 12, 'stage': 'fetch', 'ns': fetched_ns}
        ], recursive := TRUE)
    FROM paths
    UNION ALL
    SELECT
        seen.block,
        seen.host,
        (SELECT COUNT(*) FROM paths AS path WHERE path.block = seen.block AND path.host = seen.host) AS hop,
        CAST(seen.host AS VARCHAR) AS from_host,
        CAST(seen.host AS VARCHAR) AS to_host,
        UNNEST([
            {'step': 13, 'stage': 'arrival to adopted', 'ns': own.adopted_ts_ns - COALESCE(hop.fetched_ts_ns, own.forged_ts_ns)}
        ], recursive := TRUE)
    FROM adoptions AS seen
    INNER JOIN sightings AS own ON own.block = seen.block AND own.host = seen.host
    LEFT JOIN hops AS hop ON hop.block = seen.block AND hop.host = seen.host AND own.forged_ts_ns IS NULL
)

SELECT
    seen.block_no,
    steps.host,
    seen.place,
    seen.hosts,
    steps.hop,
    CASE WHEN steps.stage = 'arrival to announced' THEN steps.from_host ELSE steps.to_host END AS at_host,
    CASE WHEN steps.stage IN ('header on its way', 'fetch') THEN steps.from_host END AS from_host,
    steps.step,
    steps.stage,
    steps.ns
FROM steps
INNER JOIN adoptions AS seen ON seen.block = steps.block AND seen.host = steps.host
WHERE steps.ns IS NOT NULL
QUALIFY SUM(steps.ns) OVER (PARTITION BY seen.block_no, steps.host) = seen.adopted_ns
