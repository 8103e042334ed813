-- One row per host and stretch of slots in which its CPU use was 85 % of a core or more, and of which every second is known.
-- A stretch of one slot is 1 long. The established tool takes last minus first slot, which is 0 then, and bridges what filters left out.
WITH busy AS (
    SELECT host, slot, epoch_slot, slot - ROW_NUMBER() OVER (PARTITION BY host ORDER BY slot) AS stretch
    FROM usage
    WHERE cpu_percent >= 85
)

SELECT
    host,
    MIN(slot) AS slot,
    COUNT(*) - CASE WHEN MAX(CASE WHEN method.published THEN 1 ELSE 0 END) = 1 THEN 1 ELSE 0 END AS slots,
    MAX(CASE WHEN epoch_slot < 3 THEN 1 ELSE 0 END) = 1 AND MAX(epoch_slot) > 3 AS at_epoch
FROM busy
CROSS JOIN method
GROUP BY host, stretch
ORDER BY host, slot
