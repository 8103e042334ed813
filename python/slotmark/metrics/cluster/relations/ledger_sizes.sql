-- One row per host and slot that counts and in which the ledger's size was logged.
SELECT ledger.slot, ledger.host, MAX(ledger.chain_density) AS chain_density, MAX(ledger.utxo_size) AS utxo_size
FROM ledger_metrics AS ledger
INNER JOIN slots ON slots.host = ledger.host AND slots.slot = ledger.slot AND slots.counts
GROUP BY ledger.slot, ledger.host
ORDER BY ledger.slot, ledger.host
