-- One row a host and slot, from the first to the last that its log tells of: the forge loop's steps in ns, and whether the slot counts.
-- A slot counts when it passes every filter that is about slots.
WITH spans AS (
    SELECT host, MIN(slot) AS first_slot, MAX(slot) AS last_slot
    FROM (
        SELECT host, slot FROM forge_steps
        UNION ALL
        SELECT resources.host, CAST(FLOOR((resources.ts_ns - genesis.system_start_ns) / genesis.slot_ns) AS BIGINT) AS slot
        FROM resources
        CROSS JOIN genesis
        WHERE resources.ts_ns >= genesis.system_start_ns
    )
    GROUP BY host
),

every AS (
    SELECT RANGE AS slot FROM RANGE((SELECT MIN(first_slot) FROM spans), (SELECT MAX(last_slot) + 1 FROM spans))
),

counting AS (
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
        ), TRUE) AS counts
    FROM every
    CROSS JOIN genesis
    LEFT JOIN filters ON filters.about = 'slot'
    GROUP BY every.slot, genesis.epoch_slots
),

leaders AS (
    SELECT COUNT(*) AS wanted FROM filters WHERE tag = 'SlotHasLeaders'
)

SELECT
    spans.host,
    counting.slot,
    counting.epoch,
    counting.epoch_slot,
    counting.counts AND (leaders.wanted = 0 OR COALESCE(forge.leads, 0) > 0) AS counts,
    COALESCE(forge.starts, 0) AS starts,
    COALESCE(forge.leads, 0) AS leads,
    forge.started_ts_ns - (genesis.system_start_ns + counting.slot * genesis.slot_ns) AS started_ns,
    forge.context_ts_ns - forge.started_ts_ns AS context_ns,
    forge.state_ts_ns - forge.context_ts_ns AS state_ns,
    forge.view_ts_ns - forge.state_ts_ns AS view_ns,
    forge.decided_ts_ns - COALESCE(forge.view_ts_ns, forge.started_ts_ns) AS leading_ns,
    forge.context_block_no
FROM spans
INNER JOIN counting ON counting.slot BETWEEN spans.first_slot AND spans.last_slot
CROSS JOIN genesis
CROSS JOIN leaders
LEFT JOIN forge_steps AS forge ON forge.host = spans.host AND forge.slot = counting.slot
