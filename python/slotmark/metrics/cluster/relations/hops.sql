-- One row a block and host that fetched it: the host that it was first fetched from, and when each step was, by the clock of who did it.
-- A step is the first with this block and that host; null where the logs don't tell it.
WITH told AS (
    SELECT CAST(event.host AS VARCHAR) AS host, connection.peer, event.block, event.event, MIN(event.ts_ns) AS ts_ns
    FROM block_events AS event
    INNER JOIN connections AS connection
        ON connection.host = event.host AND connection.local = event.local AND connection.remote = event.remote
    WHERE connection.peer IS NOT NULL
    GROUP BY event.host, connection.peer, event.block, event.event
),

fetched AS (
    SELECT host, block, ARG_MIN(peer, (ts_ns, peer)) AS peer, MIN(ts_ns) AS fetched_ts_ns
    FROM told
    WHERE event = 'fetched'
    GROUP BY host, block
),

own AS (
    SELECT
        host,
        peer,
        block,
        MIN(CASE WHEN event = 'noticed' THEN ts_ns END) AS noticed_ts_ns,
        MIN(CASE WHEN event = 'requested' THEN ts_ns END) AS requested_ts_ns,
        MIN(CASE WHEN event = 'announced' THEN ts_ns END) AS announced_ts_ns
    FROM told
    GROUP BY host, peer, block
)

SELECT
    fetched.block,
    fetched.host,
    fetched.peer,
    theirs.announced_ts_ns,
    ours.noticed_ts_ns,
    ours.requested_ts_ns,
    fetched.fetched_ts_ns
FROM fetched
LEFT JOIN own AS ours ON ours.host = fetched.host AND ours.peer = fetched.peer AND ours.block = fetched.block
LEFT JOIN own AS theirs ON theirs.host = fetched.peer AND theirs.peer = fetched.host AND theirs.block = fetched.block
