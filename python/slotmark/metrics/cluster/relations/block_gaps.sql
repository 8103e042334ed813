-- One row per host and slot that counts: how many slots ago the host's chain last grew, as the forge loop saw it.
-- Rows are in order, so that windows need no order of their own: DuckDB keeps it through them.
WITH steps AS (
    SELECT host, slot, counts, context_block_no FROM slots WHERE context_block_no IS NOT NULL ORDER BY host, slot
),

compared AS (
    SELECT
        host,
        slot,
        counts,
        host IS DISTINCT FROM LAG(host) OVER () OR context_block_no IS DISTINCT FROM LAG(context_block_no) OVER () AS grew
    FROM steps
),

grown AS (
    SELECT
        host,
        slot,
        counts,
        LAST_VALUE(CASE WHEN grew THEN slot END IGNORE NULLS) OVER (ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW) AS grew_slot
    FROM compared
)

SELECT host, slot, slot - grew_slot AS gap FROM grown WHERE counts ORDER BY host, slot
