-- One row per host and slot, from the first to the last that its log tells of: the forge loop's steps in ns, and whether the slot counts.
-- A slot counts when it passes every filter that is about slots. Every slot adds a row without an event: those that were missed are there.
WITH told AS (
    SELECT host, slot, event, ts_ns, block_no FROM slot_events WHERE slot IS NOT NULL
    UNION ALL
    SELECT spans.host, every.slot, NULL AS event, NULL AS ts_ns, NULL AS block_no
    FROM spans
    INNER JOIN slot_verdicts AS every ON every.slot BETWEEN spans.first_slot AND spans.last_slot
),

steps AS (
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
    FROM told
    GROUP BY host, slot
)

SELECT
    steps.host,
    steps.slot,
    verdict.epoch,
    verdict.epoch_slot,
    verdict.counts AND (NOT verdict.leads OR steps.leads > 0) AS counts,
    steps.starts,
    steps.leads,
    steps.started_ts_ns - (genesis.system_start_ns + steps.slot * genesis.slot_ns) AS started_ns,
    steps.context_ts_ns - steps.started_ts_ns AS context_ns,
    steps.state_ts_ns - steps.context_ts_ns AS state_ns,
    steps.view_ts_ns - steps.state_ts_ns AS view_ns,
    steps.decided_ts_ns - COALESCE(steps.view_ts_ns, steps.started_ts_ns) AS leading_ns,
    steps.context_block_no
FROM steps
INNER JOIN slot_verdicts AS verdict ON verdict.slot = steps.slot
CROSS JOIN genesis
ORDER BY steps.slot, steps.host
