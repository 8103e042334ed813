-- One row per host that sends, one that receives, and a stretch of the run: the least difference, in ns, between what the receiver's clock showed
-- when a message was there and what the sender's showed before it left. Only messages of a few bytes count, headers and requests of blocks, for
-- how long a block is on its way depends on its size; and only where there are two or more.
-- What was noted of messages of a few bytes.
WITH few AS (
    FROM sightings WHERE event IN ('announced', 'noticed', 'requested', 'sending')
),

span AS (
    SELECT MIN(ts_ns) AS first_ns, MAX(ts_ns) - MIN(ts_ns) + 1 AS length_ns FROM few
)

SELECT
    sent.host AS sender,
    sent.peer AS receiver,
    CAST((sent.ts_ns - span.first_ns) * CAST($stretches AS HUGEINT) // span.length_ns AS INTEGER) AS stretch,
    MIN(got.ts_ns - sent.ts_ns) AS least_ns
FROM few AS sent
INNER JOIN few AS got ON got.host = sent.peer AND got.peer = sent.host AND got.block = sent.block
CROSS JOIN span
WHERE (sent.event, got.event) IN (('announced', 'noticed'), ('requested', 'sending'))
GROUP BY ALL
HAVING COUNT(*) >= 2
ORDER BY ALL
