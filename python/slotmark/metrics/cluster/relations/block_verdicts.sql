-- One row per block of the chain and filter: whether the block passes it. A block whose forger's log lacks what a filter or a
-- metric needs is dropped by a filter of its own, by name; the established tool ends with an error there. The start of the forge loop
-- is needed but of hosts whose logs never have it.
WITH facts AS (
    SELECT
        block.block,
        block.block_no,
        block.slot,
        block.size_bytes,
        block.forger,
        block.forged_ns,
        block.started_ns,
        COALESCE(spans.has_starts, TRUE) AS has_starts,
        FLOOR(block.slot / genesis.epoch_slots) AS epoch,
        block.slot % genesis.epoch_slots AS epoch_slot,
        FLOOR((block.slot % genesis.epoch_slots) / genesis.security_param * genesis.active_slots_coeff) AS epoch_safe,
        genesis.max_block_body_bytes AS most_bytes,
        genesis.hosts,
        (SELECT COUNT(seen.adopted_ts_ns) FROM observed AS seen WHERE seen.block = block.block) AS adoptions,
        (SELECT own.chain_delta FROM sightings AS own WHERE own.block = block.block AND own.host = block.forger) AS chain_delta,
        LEAST(
            block.started_ns, block.context_ns, block.state_ns, block.view_ns, block.leading_ns, block.ticked_ns, block.snapshot_ns,
            block.forged_ns, block.announced_ns, block.sending_ns, block.adopted_ns,
            (SELECT MIN(LEAST(seen.noticed_ns, seen.requested_ns, seen.fetched_ns, seen.announced_ns, seen.sending_ns, seen.adopted_ns))
             FROM observed AS seen WHERE seen.block = block.block)
        ) AS least_ns,
        (SELECT MAX(forge.leads) FROM forge_steps AS forge WHERE forge.host = block.forger AND forge.slot = block.slot) AS leads
    FROM forged_blocks AS block
    LEFT JOIN spans ON spans.host = block.forger
    CROSS JOIN genesis
)

SELECT
    facts.block,
    filters.place,
    filters.name,
    COALESCE(
        CASE filters.tag
            WHEN 'complete'
                THEN
                    facts.forger IS NOT NULL
                    AND facts.forged_ns IS NOT NULL
                    AND facts.size_bytes IS NOT NULL
                    AND (facts.started_ns IS NOT NULL OR NOT facts.has_starts)
            WHEN 'BUnitaryChainDelta' THEN facts.chain_delta = 1
            WHEN 'BFullnessGEq' THEN facts.size_bytes > FLOOR(facts.most_bytes * filters.argument)
            WHEN 'BFullnessLEq' THEN facts.size_bytes < FLOOR(facts.most_bytes * filters.argument)
            WHEN 'BSizeGEq' THEN facts.size_bytes >= filters.argument
            WHEN 'BSizeLEq' THEN facts.size_bytes <= filters.argument
            WHEN 'BMinimumAdoptions' THEN facts.adoptions >= filters.argument
            WHEN 'BNonNegatives' THEN facts.least_ns >= 0
            WHEN 'SlotGEq' THEN facts.slot >= filters.argument
            WHEN 'SlotLEq' THEN facts.slot <= filters.argument
            WHEN 'EpochGEq' THEN facts.epoch >= filters.argument
            WHEN 'EpochLEq' THEN facts.epoch <= filters.argument
            WHEN 'EpochSafeIntGEq' THEN facts.epoch_safe >= filters.argument
            WHEN 'EpochSafeIntLEq' THEN facts.epoch_safe <= filters.argument
            WHEN 'EpSlotGEq' THEN facts.epoch_slot >= filters.argument
            WHEN 'EpSlotLEq' THEN facts.epoch_slot <= filters.argument
            WHEN 'SlotHasLeaders' THEN facts.leads > 0
        END,
        FALSE
    ) AS passes
FROM facts
CROSS JOIN filters
