-- One row per kind of message, host that sends, one that receives, and a stretch of the run: the least difference, in ns, between what the receiver's
-- clock showed when a message was there and what the sender's showed before it left, and by how much the next one is larger. Only messages of a few
-- bytes count, headers (0) and requests of blocks (1), for how long a block is on its way depends on its size; and only where there are two or more.
WITH span AS (
    SELECT
        MIN(LEAST(announced_ns, noticed_ns, requested_ns, sending_ns)) AS first_ns,
        MAX(GREATEST(announced_ns, noticed_ns, requested_ns, sending_ns))
            - MIN(LEAST(announced_ns, noticed_ns, requested_ns, sending_ns)) + 1 AS length_ns
    FROM sightings
),

-- Messages of a few bytes.
few AS (
    SELECT 0 AS kind, sender, receiver, announced_ns AS sent_ns, header_ns AS took_ns FROM trips WHERE header_ns IS NOT NULL
    UNION ALL
    SELECT 1 AS kind, sender, receiver, requested_ns AS sent_ns, request_ns AS took_ns FROM trips WHERE request_ns IS NOT NULL
)

SELECT
    few.kind,
    few.sender,
    few.receiver,
    CAST((few.sent_ns - span.first_ns) * CAST($stretches AS HUGEINT) // span.length_ns AS INTEGER) AS stretch,
    MIN(few.took_ns) AS least_ns,
    MIN(few.took_ns, 2)[2] - MIN(few.took_ns) AS next_ns
FROM few
CROSS JOIN span
GROUP BY ALL
HAVING COUNT(*) >= 2
ORDER BY ALL
