SELECT '' AS setting, slot, host, CAST(density AS DOUBLE) AS value
FROM (
    SELECT ledger.slot, ledger.host, MAX(ledger.chain_density) AS density FROM ledger_metrics AS ledger INNER JOIN slots ON slots.host = ledger.host AND slots.slot = ledger.slot AND slots.counts
    GROUP BY ledger.slot, ledger.host)
