-- One row per host and slot that counts and in which the ledger's size was logged.
WITH sizes AS (
    SELECT slot, host, MAX(chain_density) AS chain_density, MAX(utxo_size) AS utxo_size
    FROM ledger_metrics
    GROUP BY slot, host
)

SELECT sizes.slot, sizes.host, sizes.chain_density, sizes.utxo_size
FROM sizes
INNER JOIN spans ON spans.host = sizes.host AND sizes.slot BETWEEN spans.first_slot AND spans.last_slot
INNER JOIN slot_verdicts AS verdict ON verdict.slot = sizes.slot AND verdict.counts
LEFT JOIN leads ON leads.host = sizes.host AND leads.slot = sizes.slot
WHERE NOT verdict.leads OR leads.host IS NOT NULL
ORDER BY sizes.host, sizes.slot
