-- One row per host, slot and step that the logs have before what it can only follow: which step, and by how many ns too early.
WITH told AS (
    SELECT
        seen.host,
        block.slot,
        seen.noticed_ts_ns - own.forged_ts_ns AS noticed_ns,
        seen.requested_ts_ns - seen.noticed_ts_ns AS requested_ns,
        seen.fetched_ts_ns - seen.requested_ts_ns AS fetched_ns,
        CASE WHEN seen.forged_ts_ns IS NULL THEN seen.adopted_ts_ns - seen.fetched_ts_ns END AS adopted_ns, -- own blocks may come back
        seen.announced_ts_ns - COALESCE(seen.forged_ts_ns, seen.fetched_ts_ns) AS announced_ns,
        seen.sending_ts_ns - COALESCE(seen.forged_ts_ns, seen.fetched_ts_ns) AS sending_ns,
        seen.adopted_ts_ns - seen.forged_ts_ns AS self_adopted_ns
    FROM sightings AS seen
    INNER JOIN known_blocks AS block ON block.block = seen.block
    LEFT JOIN sightings AS own ON own.block = block.block AND own.host = block.forger
),

steps AS (
    SELECT
        host,
        slot,
        UNNEST([
            {'step': 'header received before its block was forged', 'ns': noticed_ns},
            {'step': 'block requested before its header was received', 'ns': requested_ns},
            {'step': 'block fetched before it was requested', 'ns': fetched_ns},
            {'step': 'block adopted before it was fetched', 'ns': adopted_ns},
            {'step': 'block announced before it was there', 'ns': announced_ns},
            {'step': 'block sent before it was there', 'ns': sending_ns},
            {'step': 'own block adopted before it was forged', 'ns': self_adopted_ns}
        ], recursive := TRUE)
    FROM told
    WHERE LEAST(noticed_ns, requested_ns, fetched_ns, adopted_ns, announced_ns, sending_ns, self_adopted_ns) < 0
    UNION ALL
    SELECT
        host,
        slot,
        UNNEST([
            {'step': 'forge loop started before its slot', 'ns': started_ns},
            {'step': 'block context acquired before the forge loop started', 'ns': context_ns},
            {'step': 'ledger state acquired before the block context', 'ns': state_ns},
            {'step': 'ledger view acquired before the ledger state', 'ns': view_ns},
            {'step': 'leadership checked before the ledger view was acquired', 'ns': leading_ns}
        ], recursive := TRUE)
    FROM slots
    WHERE LEAST(started_ns, context_ns, state_ns, view_ns, leading_ns) < 0
    UNION ALL
    SELECT
        forger AS host,
        slot,
        UNNEST([
            {'step': 'ledger ticked before the leadership check', 'ns': ticked_ns},
            {'step': 'mempool snapshot taken before the ledger was ticked', 'ns': snapshot_ns},
            {'step': 'block forged before the mempool snapshot', 'ns': forged_ns}
        ], recursive := TRUE)
    FROM forged_blocks
    WHERE LEAST(ticked_ns, snapshot_ns, forged_ns) < 0
)

SELECT host, slot, step, -ns AS early_ns
FROM steps
WHERE ns < 0
ORDER BY slot, host, step
