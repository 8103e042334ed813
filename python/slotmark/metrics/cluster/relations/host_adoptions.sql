-- One row per host: when it adopted a block, in ns since the slot's start, mean over the accepted blocks.
SELECT host, AVG(adopted_ns) AS adopted_ns
FROM adoptions
GROUP BY host
