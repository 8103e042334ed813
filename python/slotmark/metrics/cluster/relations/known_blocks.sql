-- One row per block that anybody saw: who forged it (the first to say so), where it stands, and how many hosts adopted it.
WITH forgers AS (
    SELECT
        block,
        host,
        previous,
        size_bytes,
        ROW_NUMBER() OVER (PARTITION BY block ORDER BY forged_ts_ns, host) AS place
    FROM sightings
    WHERE forged_ts_ns IS NOT NULL
),

seen AS (
    SELECT block, MAX(slot) AS slot, MAX(block_no) AS block_no, COUNT(adopted_ts_ns) AS adopters
    FROM sightings
    GROUP BY block
)

SELECT seen.block, seen.slot, seen.block_no, seen.adopters, forgers.host AS forger, forgers.previous, forgers.size_bytes
FROM seen
LEFT JOIN forgers ON forgers.block = seen.block AND forgers.place = 1
WHERE seen.slot IS NOT NULL AND seen.block_no IS NOT NULL
