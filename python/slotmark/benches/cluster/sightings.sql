-- One row per host, peer, event and block: when the host did it, in ns by its own clock. Where it did one of these more than once with one block
-- and peer, which belong together isn't known, and none of them is here.
SELECT event.host, connection.peer, event.event, event.block, MIN(event.ts_ns) AS ts_ns
FROM block_events AS event
INNER JOIN connections AS connection
    ON connection.host = event.host AND connection.local = event.local AND connection.remote = event.remote
WHERE connection.peer IS NOT NULL
GROUP BY event.host, connection.peer, event.event, event.block
HAVING COUNT(*) = 1
