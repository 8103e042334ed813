-- One row a host and sample of its resources, in the slot in which it was taken: what was used since the sample before.
-- Where any counter went down, the node was started anew and there is no difference to tell.
-- Rows are put in order once, so that neither windows nor the result need an order of their own: DuckDB keeps it through all but joins.
WITH taken AS (
    SELECT resources.*, (resources.ts_ns - genesis.system_start_ns) // genesis.slot_ns AS slot
    FROM resources
    CROSS JOIN genesis
    WHERE resources.ts_ns >= genesis.system_start_ns
),

told AS (
    SELECT taken.*, verdict.epoch_slot, verdict.counts AND (NOT verdict.leads OR leads.host IS NOT NULL) AS counts, method.published
    FROM taken
    INNER JOIN slot_verdicts AS verdict ON verdict.slot = taken.slot
    LEFT JOIN leads ON leads.host = taken.host AND leads.slot = taken.slot
    CROSS JOIN method
    ORDER BY taken.host, taken.ts_ns, taken.cpu_cs, taken.allocated_bytes
),

ordered AS (
    SELECT *, host IS DISTINCT FROM LEAD(host) OVER () OR slot IS DISTINCT FROM LEAD(slot) OVER () AS is_last FROM told
),

pairs AS (
    SELECT
        host,
        slot,
        epoch_slot,
        counts,
        published,
        rss_bytes,
        heap_bytes,
        live_bytes,
        CASE WHEN host = LAG(host) OVER () THEN ts_ns - LAG(ts_ns) OVER () END AS span_ns,
        cpu_cs - LAG(cpu_cs) OVER () AS cpu,
        gc_cs - LAG(gc_cs) OVER () AS gc,
        mutator_cs - LAG(mutator_cs) OVER () AS mutator,
        major_gcs - LAG(major_gcs) OVER () AS major,
        minor_gcs - LAG(minor_gcs) OVER () AS minor,
        allocated_bytes - LAG(allocated_bytes) OVER () AS allocated,
        net_read_bytes - LAG(net_read_bytes) OVER () AS net_read,
        net_written_bytes - LAG(net_written_bytes) OVER () AS net_written,
        fs_read_bytes - LAG(fs_read_bytes) OVER () AS fs_read,
        fs_written_bytes - LAG(fs_written_bytes) OVER () AS fs_written
    FROM ordered
    WHERE is_last
),

checked AS (
    SELECT
        *,
        COALESCE(span_ns > 0 AND LEAST(cpu, gc, mutator, major, minor, allocated, net_read, net_written, fs_read, fs_written) >= 0, FALSE) AS whole
    FROM pairs
),

spanned AS (
    SELECT
        *,
        CASE WHEN whole THEN CAST(span_ns AS DOUBLE) / 1e9 END AS span_s,
        CASE WHEN whole THEN CASE WHEN published THEN 1.0 ELSE CAST(span_ns AS DOUBLE) / 1e9 END END AS amount_s
    FROM checked
    WHERE counts
)

SELECT
    host,
    slot,
    epoch_slot,
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
