-- One row per host and slot that counts and in which the host's mempool changed: the most transactions that it held.
WITH changes AS (
    SELECT
        transactions.host,
        transactions.count,
        CAST(FLOOR((transactions.ts_ns - genesis.system_start_ns) / genesis.slot_ns) AS BIGINT) AS slot
    FROM transactions
    CROSS JOIN genesis
    WHERE transactions.event IN ('added', 'removed')
)

SELECT slots.slot, slots.host, MAX(changes.count) AS txs
FROM changes
INNER JOIN slots ON slots.host = changes.host AND slots.slot = changes.slot AND slots.counts
GROUP BY slots.slot, slots.host
