-- One row per host and slot that counts and in which the host's mempool changed: the most transactions that it held.
SELECT told.slot, told.host, told.txs
FROM slots_told AS told
INNER JOIN spans ON spans.host = told.host AND told.slot BETWEEN spans.first_slot AND spans.last_slot
INNER JOIN slot_verdicts AS verdict ON verdict.slot = told.slot AND verdict.counts
WHERE told.txs IS NOT NULL AND (NOT verdict.leads OR told.leads > 0)
ORDER BY told.host, told.slot
