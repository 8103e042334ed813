SELECT '' AS setting, slot, host, CAST(txs AS DOUBLE) AS value
FROM (
    SELECT slots.slot, slots.host, MAX(tx.count) AS txs FROM (
    SELECT transactions.*, CAST(FLOOR((ts_ns - genesis.system_start_ns) / genesis.slot_ns) AS BIGINT) AS slot FROM transactions CROSS JOIN genesis WHERE event IN ('added', 'removed')) AS tx INNER JOIN slots ON slots.host = tx.host AND slots.slot = tx.slot AND slots.counts
    GROUP BY slots.slot, slots.host)
