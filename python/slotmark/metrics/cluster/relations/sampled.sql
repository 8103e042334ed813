-- One row per host and slot with a sample that slotmark took of its process, the last one of the slot: pages that had to be read from storage since
-- the sample before, a second, and the page cache that the host filled. Where a counter went down, the node was started anew.
WITH placed AS (
    SELECT one.*, (one.ts_ns - genesis.system_start_ns) // genesis.slot_ns AS slot
    FROM node_usage AS one
    CROSS JOIN genesis
    QUALIFY ROW_NUMBER() OVER (PARTITION BY one.host, slot ORDER BY one.ts_ns DESC) = 1
),

differences AS (
    SELECT
        hosts.host,
        one.slot,
        one.major_faults - LAG(one.major_faults) OVER samples AS faults,
        one.ts_ns - LAG(one.ts_ns) OVER samples AS span_ns,
        one.cache_bytes
    FROM placed AS one
    INNER JOIN hosts ON CAST(hosts.host AS VARCHAR) = CAST(one.host AS VARCHAR) -- where there is no such table, its hosts are plain text
    WINDOW samples AS (PARTITION BY one.host ORDER BY one.ts_ns)
)

SELECT
    one.slot,
    one.host,
    CASE WHEN one.faults >= 0 AND one.span_ns > 0 THEN one.faults * 1e9 / one.span_ns END AS major_faults,
    one.cache_bytes / 1048576 AS cache_mib
FROM differences AS one
INNER JOIN slot_verdicts AS verdict ON verdict.slot = one.slot
LEFT JOIN leads ON leads.host = one.host AND leads.slot = one.slot
WHERE verdict.counts AND (NOT verdict.leads OR leads.host IS NOT NULL)
ORDER BY one.host, one.slot
