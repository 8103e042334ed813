-- One row per host and slot of a block, where the host looked whether it leads: when it did each step of the forge loop. Steps are
-- taken from their own slot; the established tool takes the latest it has seen, whichever slot that was in.
SELECT
    host,
    slot,
    COUNT(CASE WHEN event = 'leader' THEN 1 END) AS leads,
    MIN(CASE WHEN event = 'started' THEN ts_ns END) AS started_ts_ns,
    MIN(CASE WHEN event = 'block_context' THEN ts_ns END) AS context_ts_ns,
    MIN(CASE WHEN event = 'ledger_state' THEN ts_ns END) AS state_ts_ns,
    MIN(CASE WHEN event = 'ledger_view' THEN ts_ns END) AS view_ts_ns,
    MIN(CASE WHEN event = 'leader' THEN ts_ns END) AS leading_ts_ns,
    MIN(CASE WHEN event = 'ticked' THEN ts_ns END) AS ticked_ts_ns,
    MIN(CASE WHEN event = 'mempool_snapshot' THEN ts_ns END) AS snapshot_ts_ns
FROM slot_events
WHERE slot IN (SELECT slot FROM known_blocks)
GROUP BY host, slot
