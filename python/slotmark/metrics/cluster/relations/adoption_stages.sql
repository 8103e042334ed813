-- One row an accepted block, host that adopted it, and step of the path by which it came: which it is, on which hop, and how long it took in
-- ns. Hop 0 is the forging. The steps of a block and host add up to the time from the slot's start to its adoption, to the
-- nanosecond; where the logs don't tell all of them, the block and host are left out.
WITH steps AS (
    SELECT
        seen.block,
        seen.host,
        0 AS hop,
        UNNEST([
            {'step': 1, 'stage': 'forge loop start', 'ns': block.started_ns},
            {'step': 2, 'stage': 'block context', 'ns': block.context_ns},
            {'step': 3, 'stage': 'ledger state', 'ns': block.state_ns},
            {'step': 4, 'stage': 'ledger view', 'ns': block.view_ns},
            {'step': 5, 'stage': 'leadership check', 'ns': block.leading_ns},
            {'step': 6, 'stage': 'ledger tick', 'ns': block.ticked_ns},
            {'step': 7, 'stage': 'mempool snapshot', 'ns': block.snapshot_ns},
            {'step': 8, 'stage': 'forging', 'ns': block.forged_ns}
        ], recursive := TRUE)
    FROM adoptions AS seen
    INNER JOIN blocks AS block ON block.block = seen.block
    UNION ALL
    SELECT
        block,
        host,
        hop,
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
        UNNEST([
            {'step': 13, 'stage': 'arrival to adopted', 'ns': own.adopted_ts_ns - COALESCE(hop.fetched_ts_ns, own.forged_ts_ns)}
        ], recursive := TRUE)
    FROM adoptions AS seen
    INNER JOIN sightings AS own ON own.block = seen.block AND own.host = seen.host
    LEFT JOIN hops AS hop ON hop.block = seen.block AND hop.host = seen.host AND own.forged_ts_ns IS NULL
)

SELECT seen.block_no, steps.host, seen.place, seen.hosts, steps.hop, steps.step, steps.stage, steps.ns
FROM steps
INNER JOIN adoptions AS seen ON seen.block = steps.block AND seen.host = steps.host
WHERE steps.ns IS NOT NULL
QUALIFY SUM(steps.ns) OVER (PARTITION BY seen.block_no, steps.host) = seen.adopted_ns
