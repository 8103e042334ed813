-- One row per process: what it had in the end, and the inputs that it didn't find among the unspent outputs. Null is what it doesn't record.
WITH looked_up AS (
    SELECT run, SUM(missing_inputs) AS missing_inputs FROM blocks GROUP BY run
)

SELECT process.entries, process.digest, looked_up.missing_inputs
FROM processes AS process
LEFT JOIN looked_up ON looked_up.run = process.run
