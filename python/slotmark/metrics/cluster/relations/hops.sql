-- One row per block and host that fetched it: the host that it was first fetched from, and when each step was, by the clock of who did it.
-- A step is the first with this block and that host; null where the logs don't have it.
WITH fetched AS (
    SELECT host, block, ARG_MIN(peer, (fetched_ts_ns, peer)) AS peer
    FROM exchanges
    WHERE fetched_ts_ns IS NOT NULL
    GROUP BY host, block
)

SELECT
    fetched.block,
    fetched.host,
    fetched.peer,
    theirs.announced_ts_ns,
    ours.noticed_ts_ns,
    ours.requested_ts_ns,
    ours.fetched_ts_ns
FROM fetched
INNER JOIN exchanges AS ours ON ours.host = fetched.host AND ours.peer = fetched.peer AND ours.block = fetched.block
LEFT JOIN exchanges AS theirs ON theirs.host = fetched.peer AND theirs.peer = fetched.host AND theirs.block = fetched.block
