-- One row per host, peer and block, all by their numbers: when the host announced its header to the peer, noticed the peer's, requested the block, sent
-- it and had fetched it, in ns by its own clock. Where it did one of these more than once, which belong together isn't known, and none of them is here.
-- Numbers, since names and hashes take several times as long to group by.
WITH blocks AS (
    SELECT block, CAST(ROW_NUMBER() OVER () AS INTEGER) AS number
    FROM (SELECT DISTINCT block FROM block_events WHERE remote IS NOT NULL)
)

SELECT
    connection.host_no AS host,
    connection.peer_no AS peer,
    block.number AS block,
    MIN(event.ts_ns) FILTER (event.event = 'announced') AS announced_ns,
    CASE WHEN COUNT(*) FILTER (event.event = 'noticed') = 1 THEN MIN(event.ts_ns) FILTER (event.event = 'noticed') END AS noticed_ns,
    CASE WHEN COUNT(*) FILTER (event.event = 'requested') = 1 THEN MIN(event.ts_ns) FILTER (event.event = 'requested') END AS requested_ns,
    CASE WHEN COUNT(*) FILTER (event.event = 'sending') = 1 THEN MIN(event.ts_ns) FILTER (event.event = 'sending') END AS sending_ns,
    CASE WHEN COUNT(*) FILTER (event.event = 'fetched') = 1 THEN MIN(event.ts_ns) FILTER (event.event = 'fetched') END AS fetched_ns
FROM block_events AS event
INNER JOIN connections AS connection
    ON connection.host = event.host AND connection.local IS NOT DISTINCT FROM event.local AND connection.remote = event.remote
INNER JOIN blocks AS block ON block.block = event.block
GROUP BY connection.host_no, connection.peer_no, block.number
