SELECT '' AS setting, slot, host, CAST(size AS DOUBLE) AS value
FROM (
    SELECT ledger.slot, ledger.host, MAX(ledger.utxo_size) AS size FROM ledger_metrics AS ledger INNER JOIN slots ON slots.host = ledger.host AND slots.slot = ledger.slot AND slots.counts
    GROUP BY ledger.slot, ledger.host)
