-- One row a host and slot that counts: how many slots ago the host's chain last grew, as the forge loop saw it.
WITH steps AS (
    SELECT
        host,
        slot,
        counts,
        context_block_no,
        LAG(context_block_no) OVER (PARTITION BY host ORDER BY slot) AS before_no
    FROM slots
    WHERE context_block_no IS NOT NULL
),

grown AS (
    SELECT
        host,
        slot,
        counts,
        LAST_VALUE(CASE WHEN before_no IS NULL OR before_no <> context_block_no THEN slot END IGNORE NULLS)
            OVER (PARTITION BY host ORDER BY slot ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW) AS grew_slot
    FROM steps
)

SELECT host, slot, slot - grew_slot AS gap FROM grown WHERE counts ORDER BY host, slot
