-- One row per host and slot, from the first to the last in its log: the forge loop's steps in ns, how many slots ago the host's chain last grew, as
-- that loop saw it, the most transactions in the mempool, the ledger's sizes, and whether the slot counts.
-- A slot counts when it passes every filter that is about slots. Slots without an event are there too: those that were missed. Steps are
-- taken from their own slot, as in `forge_steps`. How often the forge loop of a host starts isn't known where its log doesn't have that (`forge_loops`).
SELECT
    spans.host,
    verdict.slot,
    verdict.counts AND (NOT verdict.leads OR COALESCE(of_slot.leads, 0) > 0) AS counts,
    CASE WHEN loops.has_starts THEN COALESCE(of_slot.starts, 0) END AS starts,
    COALESCE(of_slot.leads, 0) AS leads,
    of_slot.started_ts_ns - (genesis.system_start_ns + verdict.slot * genesis.slot_ns) AS started_ns,
    of_slot.context_ts_ns - of_slot.started_ts_ns AS context_ns,
    of_slot.state_ts_ns - of_slot.context_ts_ns AS state_ns,
    of_slot.view_ts_ns - of_slot.state_ts_ns AS view_ns,
    LEAST(of_slot.leading_ts_ns, of_slot.not_leading_ts_ns) - COALESCE(of_slot.view_ts_ns, of_slot.started_ts_ns) AS leading_ns,
    verdict.slot - of_slot.grew_slot AS gap,
    of_slot.txs,
    of_slot.utxo_size,
    of_slot.chain_density
FROM spans
CROSS JOIN genesis
INNER JOIN forge_loops AS loops ON loops.host = spans.host
INNER JOIN slot_verdicts AS verdict ON verdict.slot BETWEEN spans.first_slot AND spans.last_slot
LEFT JOIN slot_rows AS of_slot ON of_slot.host = spans.host AND of_slot.slot = verdict.slot
ORDER BY spans.host, verdict.slot
