-- One row per slot that is in any host's log: where it lies in its epoch, and whether it passes every filter that is about slots
-- alone. SlotHasLeaders is about a host and slot: `leads` says whether it is asked for.
WITH every AS (
    SELECT RANGE AS slot FROM RANGE((SELECT MIN(first_slot) FROM spans), (SELECT MAX(last_slot) + 1 FROM spans))
)

SELECT
    every.slot,
    CAST(FLOOR(every.slot / genesis.epoch_slots) AS BIGINT) AS epoch,
    every.slot % genesis.epoch_slots AS epoch_slot,
    COALESCE(MIN(
        CASE filters.tag
            WHEN 'SlotGEq' THEN every.slot >= filters.argument
            WHEN 'SlotLEq' THEN every.slot <= filters.argument
            WHEN 'EpochGEq' THEN FLOOR(every.slot / genesis.epoch_slots) >= filters.argument
            WHEN 'EpochLEq' THEN FLOOR(every.slot / genesis.epoch_slots) <= filters.argument
            WHEN 'EpochSafeIntGEq' THEN FLOOR((every.slot % genesis.epoch_slots) / genesis.security_param * genesis.active_slots_coeff) >= filters.argument
            WHEN 'EpochSafeIntLEq' THEN FLOOR((every.slot % genesis.epoch_slots) / genesis.security_param * genesis.active_slots_coeff) <= filters.argument
            WHEN 'EpSlotGEq' THEN every.slot % genesis.epoch_slots >= filters.argument
            WHEN 'EpSlotLEq' THEN every.slot % genesis.epoch_slots <= filters.argument
        END
    ), TRUE) AS counts,
    COUNT(*) FILTER (filters.tag = 'SlotHasLeaders') > 0 AS leads
FROM every
CROSS JOIN genesis
LEFT JOIN filters ON filters.about = 'slot'
GROUP BY every.slot, genesis.epoch_slots
