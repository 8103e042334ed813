-- One row per traced block, host that adopted it, and hop by which it came, counted from the forger on: the durations of the hop's
-- steps in ns. The steps of all hops, the forging and the adoption follow one another, so that they add up to when the host adopted it.
WITH RECURSIVE ways AS MATERIALIZED ( -- the walk keeps them in memory, at each step
    SELECT hop.*
    FROM hops AS hop
    INNER JOIN traced_blocks AS traced ON traced.block = hop.block
),

forgings AS MATERIALIZED (
    SELECT seen.block, seen.host, seen.forged_ts_ns
    FROM sightings AS seen
    INNER JOIN traced_blocks AS traced ON traced.block = seen.block
    WHERE seen.forged_ts_ns IS NOT NULL
),

walk AS (
    SELECT seen.block, seen.host, seen.host AS here, 0 AS back
    FROM adoptions AS seen
    INNER JOIN traced_blocks AS traced ON traced.block = seen.block
    UNION ALL
    SELECT walk.block, walk.host, hop.peer AS here, walk.back + 1 AS back
    FROM walk
    INNER JOIN blocks AS block ON block.block = walk.block
    INNER JOIN ways AS hop ON hop.block = walk.block AND hop.host = walk.here
    CROSS JOIN genesis
    WHERE walk.here <> block.forger AND walk.back < genesis.hosts -- a path that is longer goes round in a circle
)

SELECT
    walk.block,
    walk.host,
    hop.peer AS from_host,
    hop.host AS to_host,
    ROW_NUMBER() OVER (PARTITION BY walk.block, walk.host ORDER BY walk.back DESC) AS hop,
    hop.announced_ts_ns - COALESCE(sender.fetched_ts_ns, own.forged_ts_ns) AS announced_ns,
    hop.noticed_ts_ns - hop.announced_ts_ns AS noticed_ns,
    hop.requested_ts_ns - hop.noticed_ts_ns AS requested_ns,
    hop.fetched_ts_ns - hop.requested_ts_ns AS fetched_ns
FROM walk
INNER JOIN ways AS hop ON hop.block = walk.block AND hop.host = walk.here
INNER JOIN blocks AS block ON block.block = walk.block
LEFT JOIN forgings AS own ON own.block = walk.block AND own.host = hop.peer
LEFT JOIN ways AS sender ON sender.block = walk.block AND sender.host = hop.peer AND hop.peer <> block.forger
WHERE walk.here <> block.forger
