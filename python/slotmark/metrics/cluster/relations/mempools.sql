-- One row per host and slot that counts and in which the host's mempool changed: the most transactions that it held.
SELECT of_slot.slot, of_slot.host, of_slot.txs
FROM slot_rows AS of_slot
INNER JOIN spans ON spans.host = of_slot.host AND of_slot.slot BETWEEN spans.first_slot AND spans.last_slot
INNER JOIN slot_verdicts AS verdict ON verdict.slot = of_slot.slot AND verdict.counts
WHERE of_slot.txs IS NOT NULL AND (NOT verdict.leads OR of_slot.leads > 0)
ORDER BY of_slot.host, of_slot.slot
