-- One row per host whose log has decisions of its forge loop, leader or not, and never that it starts: how often it did isn't known. A host
-- whose forge loop doesn't run has neither.
SELECT host
FROM slot_rows
GROUP BY host
HAVING SUM(starts) = 0 AND COUNT(COALESCE(leading_ts_ns, not_leading_ts_ns)) > 0
