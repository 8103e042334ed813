-- One row per host and stretch of slots within its log, of 20 s or more, of which it has no line: none of a slot, of resources, or of a block of them.
-- Looked at are tens of seconds, so that a stretch between 20 and 40 s may be missed. A host that was down and got the blocks of that time later has lines of them.
WITH steps AS (
    SELECT GREATEST(1, CAST(10e9 / slot_ns AS BIGINT)) AS slots, slot_ns FROM genesis
),

logged AS (
    SELECT of_slot.host, of_slot.slot // steps.slots AS place FROM slot_rows AS of_slot CROSS JOIN steps
    UNION
    SELECT of_slot.host, of_slot.slot // steps.slots AS place FROM usage_rows AS of_slot CROSS JOIN steps
    UNION
    SELECT seen.host, seen.slot // steps.slots AS place FROM sightings AS seen CROSS JOIN steps WHERE seen.slot IS NOT NULL
),

following AS (
    SELECT host, place, LEAD(place) OVER (PARTITION BY host ORDER BY place) AS next FROM logged
)

SELECT following.host, (following.place + 1) * steps.slots AS first_slot, following.next * steps.slots - 1 AS last_slot
FROM following
CROSS JOIN steps
WHERE (following.next - following.place - 1) * steps.slots * steps.slot_ns >= 20e9
