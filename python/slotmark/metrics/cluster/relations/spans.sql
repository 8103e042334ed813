-- One row per host: the first and the last slot that its log tells of.
SELECT host, MIN(slot) AS first_slot, MAX(slot) AS last_slot
FROM (
    SELECT host, slot FROM slot_events WHERE slot IS NOT NULL
    UNION ALL
    SELECT resources.host, (resources.ts_ns - genesis.system_start_ns) // genesis.slot_ns AS slot
    FROM resources
    CROSS JOIN genesis
    WHERE resources.ts_ns >= genesis.system_start_ns
)
GROUP BY host
