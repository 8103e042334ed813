-- One row per host and slot in which the host's log tells of the forge loop: when each step was done, and for which block. Steps are
-- taken from their own slot; the established tool takes the latest it has seen, whichever slot that was in.
SELECT
    host,
    slot,
    COUNT(CASE WHEN event = 'started' THEN 1 END) AS starts,
    COUNT(CASE WHEN event = 'leader' THEN 1 END) AS leads,
    MIN(CASE WHEN event = 'started' THEN ts_ns END) AS started_ts_ns,
    MIN(CASE WHEN event = 'block_context' THEN ts_ns END) AS context_ts_ns,
    MIN(CASE WHEN event = 'ledger_state' THEN ts_ns END) AS state_ts_ns,
    MIN(CASE WHEN event = 'ledger_view' THEN ts_ns END) AS view_ts_ns,
    MIN(CASE WHEN event = 'leader' THEN ts_ns END) AS leading_ts_ns,
    MIN(CASE WHEN event IN ('leader', 'not_leader') THEN ts_ns END) AS decided_ts_ns,
    MIN(CASE WHEN event = 'ticked' THEN ts_ns END) AS ticked_ts_ns,
    MIN(CASE WHEN event = 'mempool_snapshot' THEN ts_ns END) AS snapshot_ts_ns,
    MAX(block_no) AS context_block_no
FROM slot_events
WHERE slot IS NOT NULL
GROUP BY host, slot
