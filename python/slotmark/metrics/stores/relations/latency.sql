-- How long batches took, in one row: the typical one, the slowest of a hundred, and the slowest.
SELECT
    1 AS execution,
    QUANTILE_CONT(latency_ns, 0.5) / 1e6 AS median_ms,
    QUANTILE_CONT(latency_ns, 0.99) / 1e6 AS p99_ms,
    MAX(latency_ns) / 1e6 AS worst_ms
FROM batches
