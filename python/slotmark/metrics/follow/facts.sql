-- What happened while the client followed: ``text``, or ``number`` with so many decimals.
WITH counted AS (
    SELECT
        COUNT(*) AS announced,
        COUNT(*) FILTER (WHERE awaited AND latency_ns IS NOT NULL) AS counts,
        COUNT(*) FILTER (WHERE NOT awaited) AS not_awaited,
        COUNT(*) FILTER (WHERE latency_ns IS NULL) AS undone,
        COUNT(*) FILTER (WHERE announcement > 1) AS again
    FROM announcements
)

SELECT 1 AS place, 'blocks announced' AS name, NULL AS text, CAST(announced AS DOUBLE) AS number, 0 AS decimals FROM counted
UNION ALL
SELECT 2, 'of these, awaited at the tip and done', NULL, CAST(counts AS DOUBLE), 0 FROM counted
UNION ALL
SELECT 3, 'of these, not awaited', NULL, CAST(not_awaited AS DOUBLE), 0 FROM counted
UNION ALL
SELECT 4, 'of these, never done', NULL, CAST(undone AS DOUBLE), 0 FROM counted
UNION ALL
SELECT 5, 'of these, announced before and rolled back', NULL, CAST(again AS DOUBLE), 0 FROM counted
UNION ALL
SELECT 6, 'roll-backwards', NULL, CAST((SELECT COUNT(*) FROM rollbacks) AS DOUBLE), 0
