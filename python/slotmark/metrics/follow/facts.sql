-- What happened while the client followed, by mode: ``text``, or ``number`` with so many decimals. Of each mode it was a process of its own.
WITH backwards AS (
    SELECT setting, COUNT(*) AS times
    FROM rollbacks
    GROUP BY setting
),

counted AS (
    SELECT
        setting,
        6 * (ROW_NUMBER() OVER (ORDER BY setting) - 1) AS before,
        COUNT(*) AS announced,
        COUNT(*) FILTER (WHERE awaited AND latency_ns IS NOT NULL) AS counts,
        COUNT(*) FILTER (WHERE NOT awaited) AS not_awaited,
        COUNT(*) FILTER (WHERE latency_ns IS NULL) AS undone,
        COUNT(*) FILTER (WHERE announcement > 1) AS again
    FROM announcements
    GROUP BY setting
),

named AS (
    SELECT before + 1 AS place, 'blocks announced' AS name, setting, announced AS number FROM counted
    UNION ALL
    SELECT before + 2, 'of these, awaited at the tip and done', setting, counts FROM counted
    UNION ALL
    SELECT before + 3, 'of these, not awaited', setting, not_awaited FROM counted
    UNION ALL
    SELECT before + 4, 'of these, never done', setting, undone FROM counted
    UNION ALL
    SELECT before + 5, 'of these, announced before and rolled back', setting, again FROM counted
    UNION ALL
    SELECT before + 6, 'roll-backwards', setting, COALESCE(times, 0) FROM counted LEFT JOIN backwards USING (setting)
)

SELECT place, name || ', ' || setting AS name, NULL AS text, CAST(number AS DOUBLE) AS number, 0 AS decimals
FROM named
