-- One row per host whose log has decisions of its forge loop, leader or not, and never that it starts: how often it did isn't known. A host
-- whose forge loop doesn't run has neither.
SELECT host
FROM slot_events
WHERE event IN ('started', 'leader', 'not_leader')
GROUP BY host
HAVING COUNT(CASE WHEN event = 'started' THEN 1 END) = 0
