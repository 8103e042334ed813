-- One row per host, slot and step that the logs have before what it can only follow: which step, by how many ns too early, and the times
-- of both lines as they were logged, by which they are found: `line_ts_ns` of the step, `than_ts_ns` of what it can only follow, in the
-- log of `than_host`; null where that is the beginning of the slot.
WITH moments AS (
    SELECT
        seen.host,
        own.host AS forger,
        block.slot,
        seen.forged_ts_ns AS own_ts_ns,
        own.forged_ts_ns,
        seen.noticed_ts_ns,
        seen.requested_ts_ns,
        seen.fetched_ts_ns,
        seen.announced_ts_ns,
        seen.sending_ts_ns,
        CASE WHEN seen.forged_ts_ns IS NULL THEN seen.adopted_ts_ns END AS adopted_ts_ns, -- own blocks may come back
        CASE WHEN seen.forged_ts_ns IS NOT NULL THEN seen.adopted_ts_ns END AS self_adopted_ts_ns,
        COALESCE(seen.forged_ts_ns, seen.fetched_ts_ns) AS there_ts_ns
    FROM sightings AS seen
    INNER JOIN known_blocks AS block ON block.block = seen.block
    LEFT JOIN sightings AS own ON own.block = block.block AND own.host = block.forger
),

odd_slots AS (
    SELECT host, slot FROM slots WHERE LEAST(started_ns, context_ns, state_ns, view_ns, leading_ns) < 0
),

loops AS (
    SELECT
        of_slot.host,
        of_slot.slot,
        genesis.system_start_ns + of_slot.slot * genesis.slot_ns AS slot_ts_ns,
        of_slot.started_ts_ns,
        of_slot.context_ts_ns,
        of_slot.state_ts_ns,
        of_slot.view_ts_ns,
        LEAST(of_slot.leading_ts_ns, of_slot.not_leading_ts_ns) AS leading_ts_ns
    FROM slot_rows AS of_slot
    INNER JOIN odd_slots ON odd_slots.host = of_slot.host AND odd_slots.slot = of_slot.slot
    CROSS JOIN genesis
),

forged AS (
    SELECT
        block.forger AS host,
        block.slot,
        forge.leading_ts_ns,
        forge.ticked_ts_ns,
        forge.snapshot_ts_ns,
        seen.forged_ts_ns
    FROM forged_blocks AS block
    INNER JOIN forge_steps AS forge ON forge.host = block.forger AND forge.slot = block.slot
    INNER JOIN sightings AS seen ON seen.block = block.block AND seen.host = block.forger
),

steps AS (
    SELECT
        host,
        slot,
        UNNEST([
            {'step': 'header received before its block was forged', 'line': noticed_ts_ns, 'than': forged_ts_ns, 'of': forger},
            {'step': 'block requested before its header was received', 'line': requested_ts_ns, 'than': noticed_ts_ns, 'of': host},
            {'step': 'block fetched before it was requested', 'line': fetched_ts_ns, 'than': requested_ts_ns, 'of': host},
            {'step': 'block adopted before it was fetched', 'line': adopted_ts_ns, 'than': fetched_ts_ns, 'of': host},
            {'step': 'block announced before it was there', 'line': announced_ts_ns, 'than': there_ts_ns, 'of': host},
            {'step': 'block sent before it was there', 'line': sending_ts_ns, 'than': there_ts_ns, 'of': host},
            {'step': 'own block adopted before it was forged', 'line': self_adopted_ts_ns, 'than': own_ts_ns, 'of': host}
        ], recursive := TRUE)
    FROM moments
    UNION ALL
    SELECT
        host,
        slot,
        UNNEST([
            {'step': 'forge loop started before its slot', 'line': started_ts_ns, 'than': slot_ts_ns, 'of': NULL},
            {'step': 'block context acquired before the forge loop started', 'line': context_ts_ns, 'than': started_ts_ns, 'of': host},
            {'step': 'ledger state acquired before the block context', 'line': state_ts_ns, 'than': context_ts_ns, 'of': host},
            {'step': 'ledger view acquired before the ledger state', 'line': view_ts_ns, 'than': state_ts_ns, 'of': host},
            {
                'step': 'leadership checked before the ledger view was acquired',
                'line': leading_ts_ns,
                'than': COALESCE(view_ts_ns, started_ts_ns),
                'of': host
            }
        ], recursive := TRUE)
    FROM loops
    UNION ALL
    SELECT
        host,
        slot,
        UNNEST([
            {'step': 'ledger ticked before the leadership check', 'line': ticked_ts_ns, 'than': leading_ts_ns, 'of': host},
            {'step': 'mempool snapshot taken before the ledger was ticked', 'line': snapshot_ts_ns, 'than': ticked_ts_ns, 'of': host},
            {
                'step': 'block forged before the mempool snapshot',
                'line': forged_ts_ns,
                'than': COALESCE(snapshot_ts_ns, leading_ts_ns),
                'of': host
            }
        ], recursive := TRUE)
    FROM forged
)

SELECT
    steps.host,
    steps.slot,
    steps.step,
    steps.than - steps.line AS early_ns,
    steps.line + COALESCE(own.correction_ns, 0) AS line_ts_ns,
    steps.of AS than_host,
    CASE WHEN steps.of IS NOT NULL THEN steps.than + COALESCE(other.correction_ns, 0) END AS than_ts_ns
FROM steps
LEFT JOIN clocks AS own ON own.host = steps.host
LEFT JOIN clocks AS other ON other.host = steps.of
WHERE steps.line < steps.than
ORDER BY steps.slot, steps.host, steps.step
