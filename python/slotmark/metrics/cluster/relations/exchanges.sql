-- One row per block, host, and peer that had to do with it: when the host announced the block to the peer, noticed its header there, requested
-- it and had fetched it, by its own clock; the first time each, null where the logs don't tell it.
WITH told AS (
    SELECT CAST(event.host AS VARCHAR) AS host, connection.peer, event.block, event.event, event.ts_ns
    FROM block_events AS event
    INNER JOIN connections AS connection
        ON connection.host = event.host AND connection.local = event.local AND connection.remote = event.remote
    WHERE connection.peer IS NOT NULL
)

SELECT
    block,
    host,
    peer,
    MIN(CASE WHEN event = 'announced' THEN ts_ns END) AS announced_ts_ns,
    MIN(CASE WHEN event = 'noticed' THEN ts_ns END) AS noticed_ts_ns,
    MIN(CASE WHEN event = 'requested' THEN ts_ns END) AS requested_ts_ns,
    MIN(CASE WHEN event = 'fetched' THEN ts_ns END) AS fetched_ts_ns
FROM told
GROUP BY block, host, peer
