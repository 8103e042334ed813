-- One row a host and sample of its resources, in the slot in which it was taken: what was used since the sample before.
-- Where any counter went down, the node was started anew and there is no difference to tell.
WITH taken AS (
    SELECT resources.*, (resources.ts_ns - genesis.system_start_ns) // genesis.slot_ns AS slot
    FROM resources
    CROSS JOIN genesis
    WHERE resources.ts_ns >= genesis.system_start_ns
),

ordered AS (
    SELECT *, LEAD(slot) OVER (PARTITION BY host ORDER BY ts_ns, cpu_cs, allocated_bytes) AS next_slot FROM taken
),

pairs AS (
    SELECT
        *,
        ts_ns - LAG(ts_ns) OVER before AS span_ns,
        cpu_cs - LAG(cpu_cs) OVER before AS cpu,
        gc_cs - LAG(gc_cs) OVER before AS gc,
        mutator_cs - LAG(mutator_cs) OVER before AS mutator,
        major_gcs - LAG(major_gcs) OVER before AS major,
        minor_gcs - LAG(minor_gcs) OVER before AS minor,
        allocated_bytes - LAG(allocated_bytes) OVER before AS allocated,
        net_read_bytes - LAG(net_read_bytes) OVER before AS net_read,
        net_written_bytes - LAG(net_written_bytes) OVER before AS net_written,
        fs_read_bytes - LAG(fs_read_bytes) OVER before AS fs_read,
        fs_written_bytes - LAG(fs_written_bytes) OVER before AS fs_written
    FROM ordered
    WHERE next_slot IS DISTINCT FROM slot
    WINDOW before AS (PARTITION BY host ORDER BY ts_ns)
),

checked AS (
    SELECT
        *,
        COALESCE(span_ns > 0 AND LEAST(cpu, gc, mutator, major, minor, allocated, net_read, net_written, fs_read, fs_written) >= 0, FALSE) AS whole,
        CAST(span_ns AS DOUBLE) / 1e9 AS span_s
    FROM pairs
)

SELECT
    checked.host,
    checked.slot,
    verdict.epoch_slot,
    span_ns IS NOT NULL AND NOT whole AS was_reset,
    CASE WHEN whole THEN CASE WHEN published THEN CEIL(cpu / span_s) ELSE cpu / span_s END END AS cpu_percent,
    CASE WHEN whole THEN CASE WHEN published THEN CEIL(gc / span_s) ELSE gc / span_s END END AS gc_percent,
    CASE WHEN whole THEN CASE WHEN published THEN CEIL(mutator / span_s) ELSE mutator / span_s END END AS mutator_percent,
    CASE WHEN whole THEN CASE WHEN published THEN major ELSE major / span_s END END AS major_gcs,
    CASE WHEN whole THEN CASE WHEN published THEN minor ELSE minor / span_s END END AS minor_gcs,
    CASE WHEN whole THEN CASE WHEN published THEN FLOOR(allocated / 1048576) ELSE allocated / 1048576 / span_s END END AS allocated_mib,
    CASE WHEN whole THEN CASE WHEN published THEN FLOOR(net_read / 1024) ELSE net_read / 1024 / span_s END END AS net_read_kib,
    CASE WHEN whole THEN CASE WHEN published THEN FLOOR(net_written / 1024) ELSE net_written / 1024 / span_s END END AS net_written_kib,
    CASE WHEN whole THEN CASE WHEN published THEN FLOOR(fs_read / 1024) ELSE fs_read / 1024 / span_s END END AS fs_read_kib,
    CASE WHEN whole THEN CASE WHEN published THEN FLOOR(fs_written / 1024) ELSE fs_written / 1024 / span_s END END AS fs_written_kib,
    CASE WHEN published THEN FLOOR(rss_bytes / 1048576) ELSE rss_bytes / 1048576 END AS rss_mib,
    CASE WHEN published THEN FLOOR(heap_bytes / 1048576) ELSE heap_bytes / 1048576 END AS heap_mib,
    CASE WHEN published THEN FLOOR(live_bytes / 1048576) ELSE live_bytes / 1048576 END AS live_mib
FROM checked
INNER JOIN slot_verdicts AS verdict ON verdict.slot = checked.slot AND verdict.counts
LEFT JOIN leads ON leads.host = checked.host AND leads.slot = checked.slot
CROSS JOIN method
WHERE NOT verdict.leads OR leads.host IS NOT NULL
ORDER BY checked.host, checked.slot
