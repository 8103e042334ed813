-- One row per host and slot, from the first to the last that its log tells of: the forge loop's steps in ns, and whether the slot counts.
-- A slot counts when it passes every filter that is about slots. Slots without an event are there too: those that were missed. Steps are
-- taken from their own slot, as in `forge_steps`. How often the forge loop of a host of `without_starts` starts isn't known.
SELECT
    spans.host,
    verdict.slot,
    verdict.epoch,
    verdict.epoch_slot,
    verdict.counts AND (NOT verdict.leads OR COALESCE(told.leads, 0) > 0) AS counts,
    CASE WHEN without_starts.host IS NULL THEN COALESCE(told.starts, 0) END AS starts,
    COALESCE(told.leads, 0) AS leads,
    told.started_ts_ns - (genesis.system_start_ns + verdict.slot * genesis.slot_ns) AS started_ns,
    told.context_ts_ns - told.started_ts_ns AS context_ns,
    told.state_ts_ns - told.context_ts_ns AS state_ns,
    told.view_ts_ns - told.state_ts_ns AS view_ns,
    LEAST(told.leading_ts_ns, told.not_leading_ts_ns) - COALESCE(told.view_ts_ns, told.started_ts_ns) AS leading_ns,
    told.context_block_no
FROM spans
CROSS JOIN genesis
INNER JOIN slot_verdicts AS verdict ON verdict.slot BETWEEN spans.first_slot AND spans.last_slot
LEFT JOIN slots_told AS told ON told.host = spans.host AND told.slot = verdict.slot
LEFT JOIN without_starts ON without_starts.host = spans.host
ORDER BY spans.host, verdict.slot
