-- One row per host: how many transactions its mempool refused.
SELECT hosts.host, COUNT(tx.ts_ns) AS rejected
FROM hosts
LEFT JOIN transactions AS tx ON tx.host = hosts.host AND tx.event = 'rejected'
GROUP BY hosts.host
