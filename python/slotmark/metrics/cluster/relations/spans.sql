-- One row per host: the first and the last slot in its log.
SELECT host, MIN(slot) AS first_slot, MAX(slot) AS last_slot
FROM (
    SELECT host, slot FROM slot_rows WHERE events > 0
    UNION ALL
    SELECT host, slot FROM usage_rows
)
GROUP BY host
