-- One row per accepted block: when the first of its peers noticed it, and when the first had it, in ns since the slot's start.
SELECT block_no, MIN(noticed_ns) AS noticed_ns, MIN(noticed_ns + requested_ns + fetched_ns) AS fetched_ns
FROM observations
GROUP BY block_no
