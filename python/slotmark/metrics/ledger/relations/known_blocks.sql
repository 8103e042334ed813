-- One row per block: what is known of it, from any process.
SELECT
    slot,
    MAX(block_no) AS block_no,
    MAX(hash) AS hash,
    MAX(transactions) AS transactions,
    MAX(COALESCE(block_bytes, transaction_bytes)) AS bytes,
    MAX(script_steps) AS script_steps
FROM blocks
GROUP BY slot
ORDER BY slot
