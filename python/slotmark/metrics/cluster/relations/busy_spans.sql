-- One row per host and stretch of slots in which its CPU use was 85 % of a core or more, of samples that follow one another: a sample stands for
-- the slots since the sample before it. At an epoch's boundary are those that have one of the first three slots of an epoch and end after its fourth.
-- The established tool takes samples as following one another that filters left side by side, and last minus first slot, which is 0 for one slot; of those at an
-- epoch's boundary, which begin in its first three slots, it takes how many samples they are (`epoch_slots`).
WITH numbered AS (
    SELECT usage.host, usage.slot, usage.cpu_percent, ROW_NUMBER() OVER (PARTITION BY usage.host ORDER BY usage.slot) AS place
    FROM usage
    CROSS JOIN method
    WHERE method.published
),

busy AS (
    SELECT
        usage.host,
        usage.slot - usage.span_slots + 1 AS since,
        usage.slot,
        usage.slot - SUM(usage.span_slots) OVER (PARTITION BY usage.host ORDER BY usage.slot) AS stretch
    FROM usage
    CROSS JOIN method
    WHERE usage.cpu_percent >= 85 AND NOT method.published
    UNION ALL
    SELECT host, slot AS since, slot, place - ROW_NUMBER() OVER (PARTITION BY host ORDER BY slot) AS stretch
    FROM numbered
    WHERE cpu_percent >= 85
),

stretches AS (
    SELECT host, MIN(since) AS since, MAX(slot) AS slot, COUNT(*) AS samples
    FROM busy
    GROUP BY host, stretch
)

SELECT
    stretches.host,
    stretches.since AS slot,
    stretches.slot - stretches.since + CASE WHEN method.published THEN 0 ELSE 1 END AS slots,
    CASE WHEN method.published THEN stretches.samples ELSE stretches.slot - stretches.since + 1 END AS epoch_slots,
    CASE
        WHEN method.published THEN stretches.since % genesis.epoch_slots < 3 AND stretches.slot % genesis.epoch_slots > 3
        -- the first epoch of which the stretch may have one of the first three slots
        ELSE stretches.slot > (stretches.since + genesis.epoch_slots - 3) // genesis.epoch_slots * genesis.epoch_slots + 3
    END AS at_epoch
FROM stretches
CROSS JOIN genesis
CROSS JOIN method
ORDER BY stretches.host, stretches.since
