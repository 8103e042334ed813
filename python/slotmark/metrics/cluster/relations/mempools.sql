-- One row per host and slot that counts and in which the host's mempool changed: the most transactions that it held.
WITH held AS (
    SELECT
        transactions.host,
        (transactions.ts_ns - genesis.system_start_ns) // genesis.slot_ns AS slot,
        MAX(transactions.count) AS txs
    FROM transactions
    CROSS JOIN genesis
    WHERE transactions.event IN ('added', 'removed') AND transactions.ts_ns >= genesis.system_start_ns
    GROUP BY transactions.host, slot
)

SELECT held.slot, held.host, held.txs
FROM held
INNER JOIN spans ON spans.host = held.host AND held.slot BETWEEN spans.first_slot AND spans.last_slot
INNER JOIN slot_verdicts AS verdict ON verdict.slot = held.slot AND verdict.counts
LEFT JOIN leads ON leads.host = held.host AND leads.slot = held.slot
WHERE NOT verdict.leads OR leads.host IS NOT NULL
ORDER BY held.host, held.slot
