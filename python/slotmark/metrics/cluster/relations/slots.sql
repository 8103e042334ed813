-- One row per host and slot, from the first to the last that its log tells of: the forge loop's steps in ns, and whether the slot counts.
-- A slot counts when it passes every filter that is about slots. Slots without an event are there too: those that were missed. Steps are
-- taken from their own slot, as in `forge_steps`. How often the forge loop of a host of `without_starts` starts isn't known.
WITH loops AS (
    SELECT
        host,
        slot,
        COUNT(CASE WHEN event = 'started' THEN 1 END) AS starts,
        COUNT(CASE WHEN event = 'leader' THEN 1 END) AS leads,
        MIN(CASE WHEN event = 'started' THEN ts_ns END) AS started_ts_ns,
        MIN(CASE WHEN event = 'block_context' THEN ts_ns END) AS context_ts_ns,
        MIN(CASE WHEN event = 'ledger_state' THEN ts_ns END) AS state_ts_ns,
        MIN(CASE WHEN event = 'ledger_view' THEN ts_ns END) AS view_ts_ns,
        MIN(CASE WHEN event IN ('leader', 'not_leader') THEN ts_ns END) AS decided_ts_ns,
        MAX(block_no) AS context_block_no
    FROM slot_events
    WHERE slot IS NOT NULL
    GROUP BY host, slot
)

SELECT
    spans.host,
    verdict.slot,
    verdict.epoch,
    verdict.epoch_slot,
    verdict.counts AND (NOT verdict.leads OR COALESCE(loop.leads, 0) > 0) AS counts,
    CASE WHEN without_starts.host IS NULL THEN COALESCE(loop.starts, 0) END AS starts,
    COALESCE(loop.leads, 0) AS leads,
    loop.started_ts_ns - (genesis.system_start_ns + verdict.slot * genesis.slot_ns) AS started_ns,
    loop.context_ts_ns - loop.started_ts_ns AS context_ns,
    loop.state_ts_ns - loop.context_ts_ns AS state_ns,
    loop.view_ts_ns - loop.state_ts_ns AS view_ns,
    loop.decided_ts_ns - COALESCE(loop.view_ts_ns, loop.started_ts_ns) AS leading_ns,
    loop.context_block_no
FROM spans
CROSS JOIN genesis
INNER JOIN slot_verdicts AS verdict ON verdict.slot BETWEEN spans.first_slot AND spans.last_slot
LEFT JOIN loops AS loop ON loop.host = spans.host AND loop.slot = verdict.slot
LEFT JOIN without_starts ON without_starts.host = spans.host
ORDER BY spans.host, verdict.slot
