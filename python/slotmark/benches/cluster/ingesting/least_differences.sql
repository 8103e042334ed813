-- One row per host that sends and one that receives, by their numbers: the least difference, in ns, between what the receiver's clock showed when a
-- message was there and what the sender's showed before it left, and of how many messages; and the least of headers alone and of requests alone, null
-- where there are none.
-- Times as coarse as those of legacy nodes, 10 ms, may each be too early by as much.
WITH coarse AS (
    SELECT
        host,
        CASE WHEN BOOL_AND(ts_ns % 10000000 = 0) THEN 10000000 WHEN BOOL_AND(ts_ns % 1000000 = 0) THEN 1000000 ELSE 0 END AS step_ns
    FROM sightings UNPIVOT (ts_ns FOR event IN (announced_ns, noticed_ns, requested_ns, sending_ns, fetched_ns))
    GROUP BY host
),

least AS (
    SELECT
        sender,
        receiver,
        LEAST(MIN(header_ns), MIN(request_ns), MIN(body_ns)) AS least_ns,
        MIN(header_ns) AS header_ns,
        MIN(request_ns) AS request_ns,
        COUNT(header_ns) + COUNT(request_ns) + COUNT(body_ns) AS messages
    FROM trips
    GROUP BY sender, receiver
)

SELECT
    least.sender,
    least.receiver,
    least.least_ns + GREATEST(own.step_ns, theirs.step_ns) AS least_ns,
    least.header_ns + GREATEST(own.step_ns, theirs.step_ns) AS header_ns,
    least.request_ns + GREATEST(own.step_ns, theirs.step_ns) AS request_ns,
    least.messages
FROM least
INNER JOIN coarse AS own ON own.host = least.sender
INNER JOIN coarse AS theirs ON theirs.host = least.receiver
WHERE least.messages > 0
ORDER BY least.sender, least.receiver
