-- One row per host: how many blocks it forged, how many of them are on the chain, and how many passed all filters.
SELECT
    hosts.host,
    COUNT(known.block) AS forged,
    COUNT(block.block) AS chained,
    SUM(CASE WHEN block.accepted THEN 1 ELSE 0 END) AS filtered
FROM hosts
LEFT JOIN known_blocks AS known ON known.forger = hosts.host
LEFT JOIN blocks AS block ON block.block = known.block
GROUP BY hosts.host
