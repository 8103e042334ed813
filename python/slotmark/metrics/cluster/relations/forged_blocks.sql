-- One row per block of the chain: how it was forged, every step in ns since the one before it.
WITH steps AS (
    SELECT
        block.block,
        block.block_no,
        block.slot,
        block.forger,
        block.previous,
        block.size_bytes,
        genesis.system_start_ns + block.slot * genesis.slot_ns AS slot_start_ns,
        forge.started_ts_ns,
        forge.context_ts_ns,
        forge.state_ts_ns,
        forge.view_ts_ns,
        forge.leading_ts_ns,
        forge.ticked_ts_ns,
        forge.snapshot_ts_ns,
        seen.forged_ts_ns,
        seen.announced_ts_ns,
        seen.sending_ts_ns,
        seen.adopted_ts_ns,
        CASE WHEN published THEN 10000000 END AS default_ns
    FROM chain
    INNER JOIN known_blocks AS block ON block.block = chain.block
    LEFT JOIN sightings AS seen ON seen.block = block.block AND seen.host = block.forger
    LEFT JOIN forge_steps AS forge ON forge.host = block.forger AND forge.slot = block.slot
    CROSS JOIN genesis
    CROSS JOIN method
)

SELECT
    block,
    block_no,
    slot,
    forger,
    previous,
    size_bytes,
    slot_start_ns,
    started_ts_ns - slot_start_ns AS started_ns,
    context_ts_ns - started_ts_ns AS context_ns,
    state_ts_ns - context_ts_ns AS state_ns,
    view_ts_ns - state_ts_ns AS view_ns,
    leading_ts_ns - COALESCE(view_ts_ns, started_ts_ns) AS leading_ns,
    ticked_ts_ns - leading_ts_ns AS ticked_ns,
    snapshot_ts_ns - ticked_ts_ns AS snapshot_ns,
    forged_ts_ns - COALESCE(snapshot_ts_ns, leading_ts_ns) AS forged_ns,
    COALESCE(announced_ts_ns - forged_ts_ns, default_ns) AS announced_ns,
    COALESCE(announced_ts_ns - slot_start_ns, default_ns) AS announced_since_slot_ns,
    COALESCE(sending_ts_ns - forged_ts_ns, default_ns) AS sending_ns,
    COALESCE(adopted_ts_ns - forged_ts_ns, default_ns) AS adopted_ns
FROM steps
