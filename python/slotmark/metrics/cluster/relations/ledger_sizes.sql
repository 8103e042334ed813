-- One row per host and slot that counts and in which the ledger's size was logged.
SELECT told.slot, told.host, told.chain_density, told.utxo_size
FROM slots_told AS told
INNER JOIN spans ON spans.host = told.host AND told.slot BETWEEN spans.first_slot AND spans.last_slot
INNER JOIN slot_verdicts AS verdict ON verdict.slot = told.slot AND verdict.counts
WHERE (told.chain_density IS NOT NULL OR told.utxo_size IS NOT NULL) AND (NOT verdict.leads OR told.leads > 0)
ORDER BY told.host, told.slot
