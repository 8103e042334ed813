-- One row per host and slot, from the first to the last that its log tells of: the forge loop's steps in ns, and whether the slot counts.
-- A slot counts when it passes every filter that is about slots. Slots without an event are there too: those that were missed.
SELECT
    spans.host,
    verdict.slot,
    verdict.epoch,
    verdict.epoch_slot,
    verdict.counts AND (NOT verdict.leads OR COALESCE(loop.leads, 0) > 0) AS counts,
    COALESCE(loop.starts, 0) AS starts,
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
LEFT JOIN forge_loops AS loop ON loop.host = spans.host AND loop.slot = verdict.slot
ORDER BY spans.host, verdict.slot
