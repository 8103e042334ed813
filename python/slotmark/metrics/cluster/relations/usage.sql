-- One row per host and sample of its resources, in the slot in which it was taken: what was used since the sample before.
-- Where any counter went down, the node was started anew and there is no difference to compute.
WITH checked AS (
    SELECT
        of_slot.*,
        verdict.epoch_slot,
        method.published,
        COALESCE(span_ns > 0 AND LEAST(cpu, gc, mutator, major, minor, allocated, net_read, net_written, fs_read, fs_written) >= 0, FALSE) AS whole
    FROM usage_rows AS of_slot
    INNER JOIN slot_verdicts AS verdict ON verdict.slot = of_slot.slot
    LEFT JOIN leads ON leads.host = of_slot.host AND leads.slot = of_slot.slot
    CROSS JOIN method
    WHERE verdict.counts AND (NOT verdict.leads OR leads.host IS NOT NULL)
    ORDER BY of_slot.host, of_slot.slot
),

spanned AS (
    SELECT
        *,
        CASE WHEN whole THEN CAST(span_ns AS DOUBLE) / 1e9 END AS span_s,
        CASE WHEN whole THEN CASE WHEN published THEN 1.0 ELSE CAST(span_ns AS DOUBLE) / 1e9 END END AS amount_s
    FROM checked
)

SELECT
    host,
    slot,
    epoch_slot,
    span_slots,
    span_ns IS NOT NULL AND NOT whole AS was_reset,
    CASE WHEN published THEN CEIL(cpu / span_s) ELSE cpu / span_s END AS cpu_percent,
    CASE WHEN published THEN CEIL(gc / span_s) ELSE gc / span_s END AS gc_percent,
    CASE WHEN published THEN CEIL(mutator / span_s) ELSE mutator / span_s END AS mutator_percent,
    major / amount_s AS major_gcs,
    minor / amount_s AS minor_gcs,
    CASE WHEN published THEN FLOOR(allocated / 1048576) / amount_s ELSE allocated / 1048576 / amount_s END AS allocated_mib,
    CASE WHEN published THEN FLOOR(net_read / 1024) / amount_s ELSE net_read / 1024 / amount_s END AS net_read_kib,
    CASE WHEN published THEN FLOOR(net_written / 1024) / amount_s ELSE net_written / 1024 / amount_s END AS net_written_kib,
    CASE WHEN published THEN FLOOR(fs_read / 1024) / amount_s ELSE fs_read / 1024 / amount_s END AS fs_read_kib,
    CASE WHEN published THEN FLOOR(fs_written / 1024) / amount_s ELSE fs_written / 1024 / amount_s END AS fs_written_kib,
    CASE WHEN published THEN FLOOR(rss_bytes / 1048576) ELSE rss_bytes / 1048576 END AS rss_mib,
    CASE WHEN published THEN FLOOR(heap_bytes / 1048576) ELSE heap_bytes / 1048576 END AS heap_mib,
    CASE WHEN published THEN FLOOR(live_bytes / 1048576) ELSE live_bytes / 1048576 END AS live_mib
FROM spanned
