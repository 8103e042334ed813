-- One row per transaction that slotmark submitted, by the slot in which it was due: in ns from then on, when it was offered, when the
-- block was forged that it is in, and when the last host had adopted that block. One that is in no block, though a later one of the same
-- target is, was overtaken: a mempool is a queue.
WITH moments AS (
    SELECT
        seen.block,
        MIN(seen.forged_ts_ns) AS forged_ts_ns,
        CASE WHEN COUNT(seen.adopted_ts_ns) = ANY_VALUE(genesis.hosts) THEN MAX(seen.adopted_ts_ns) END AS everywhere_ts_ns
    FROM sightings AS seen
    CROSS JOIN genesis
    GROUP BY seen.block
),

ordered AS (
    SELECT
        one.*,
        (one.due_ns - genesis.system_start_ns) // genesis.slot_ns AS slot,
        found.block,
        found.block IS NOT NULL AS in_block,
        MAX(CASE WHEN found.block IS NOT NULL THEN one.number END) OVER (PARTITION BY one.target) AS last_in_block
    FROM submissions AS one
    LEFT JOIN inclusions AS found ON found.transaction = one.transaction
    CROSS JOIN genesis
)

SELECT
    ordered.slot,
    ordered.number,
    ordered.target,
    ordered.block,
    ordered.in_block,
    NOT ordered.in_block AND ordered.number < COALESCE(ordered.last_in_block, -1) AS overtaken,
    ordered.offered_ns - ordered.due_ns AS offered_ns,
    moments.forged_ts_ns - ordered.due_ns AS forged_ns,
    moments.everywhere_ts_ns - ordered.due_ns AS everywhere_ns
FROM ordered
INNER JOIN slot_verdicts AS verdict ON verdict.slot = ordered.slot
LEFT JOIN moments ON moments.block = ordered.block
WHERE verdict.counts
ORDER BY ordered.slot, ordered.number
