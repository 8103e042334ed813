-- One row per host that sends and one that receives: the least difference, in ns, between what the receiver's clock showed when a
-- message was there and what the sender's showed before it left, and of how many messages. A message goes from
-- announcing a header to noticing it, from requesting a block to sending it, and from sending it to having fetched it.
-- Times as coarse as those of legacy nodes, 10 ms, may each be too early by as much.
WITH coarse AS (
    SELECT
        host,
        CASE WHEN BOOL_AND(ts_ns % 10000000 = 0) THEN 10000000 WHEN BOOL_AND(ts_ns % 1000000 = 0) THEN 1000000 ELSE 0 END AS step_ns
    FROM sightings
    GROUP BY host
)

SELECT
    sent.host AS sender,
    sent.peer AS receiver,
    MIN(got.ts_ns - sent.ts_ns) + MAX(GREATEST(own.step_ns, theirs.step_ns)) AS least_ns,
    COUNT(*) AS messages
FROM sightings AS sent
INNER JOIN sightings AS got ON got.host = sent.peer AND got.peer = sent.host AND got.block = sent.block
INNER JOIN coarse AS own ON own.host = sent.host
INNER JOIN coarse AS theirs ON theirs.host = sent.peer
WHERE (sent.event, got.event) IN (('announced', 'noticed'), ('requested', 'sending'), ('sending', 'fetched'))
GROUP BY sent.host, sent.peer
ORDER BY sent.host, sent.peer
