-- One row per host: the first and the last slot in its log, and whether that has the starts of its forge loop. It hasn't where there are decisions,
-- leader or not, and never a start. Where there are neither, it is null: `forge_loops` says what is made of that.
WITH logged AS (
    SELECT
        host,
        MIN(slot) FILTER (events > 0) AS first_slot,
        MAX(slot) FILTER (events > 0) AS last_slot,
        CASE
            WHEN SUM(starts) > 0 THEN TRUE
            WHEN COUNT(COALESCE(leading_ts_ns, not_leading_ts_ns)) > 0 THEN FALSE
        END AS has_starts
    FROM slot_rows
    GROUP BY host
    UNION ALL
    SELECT host, MIN(slot) AS first_slot, MAX(slot) AS last_slot, NULL AS has_starts
    FROM usage_rows
    GROUP BY host
)

SELECT host, MIN(first_slot) AS first_slot, MAX(last_slot) AS last_slot, BOOL_AND(has_starts) AS has_starts
FROM logged
GROUP BY host
HAVING MIN(first_slot) IS NOT NULL
