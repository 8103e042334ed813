-- One row per block, host, and peer that had to do with it: when the host announced the block to the peer, noticed its header there, requested
-- it, was about to send it to the peer, and had fetched it, by its own clock; the first time each, null where the logs don't have it.
SELECT
    event.block,
    event.host,
    connection.peer,
    MIN(CASE WHEN event.event = 'announced' THEN event.ts_ns END) AS announced_ts_ns,
    MIN(CASE WHEN event.event = 'noticed' THEN event.ts_ns END) AS noticed_ts_ns,
    MIN(CASE WHEN event.event = 'requested' THEN event.ts_ns END) AS requested_ts_ns,
    MIN(CASE WHEN event.event = 'sending' THEN event.ts_ns END) AS sending_ts_ns,
    MIN(CASE WHEN event.event = 'fetched' THEN event.ts_ns END) AS fetched_ts_ns
FROM block_events AS event
INNER JOIN connections AS connection
    ON connection.host = event.host AND connection.local IS NOT DISTINCT FROM event.local AND connection.remote = event.remote
WHERE connection.peer IS NOT NULL
GROUP BY ALL
