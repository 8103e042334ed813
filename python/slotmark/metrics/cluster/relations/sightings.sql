-- One row per host and block: when the host first did each thing with it. Of several messages of one kind, the earliest counts.
-- Adopting by switching to a fork counts; the established tool doesn't see it.
SELECT
    host,
    block,
    MIN(CASE WHEN event = 'forged' THEN ts_ns END) AS forged_ts_ns,
    MIN(CASE WHEN event = 'noticed' THEN ts_ns END) AS noticed_ts_ns,
    MIN(CASE WHEN event = 'requested' THEN ts_ns END) AS requested_ts_ns,
    MIN(CASE WHEN event = 'fetched' THEN ts_ns END) AS fetched_ts_ns,
    MIN(CASE WHEN event = 'announced' THEN ts_ns END) AS announced_ts_ns,
    MIN(CASE WHEN event = 'sending' THEN ts_ns END) AS sending_ts_ns,
    MIN(CASE WHEN event IN ('adopted', 'self_adopted') OR (event = 'switched' AND NOT published) THEN ts_ns END) AS adopted_ts_ns,
    MAX(slot) AS slot,
    MAX(CASE WHEN event IN ('forged', 'noticed') THEN block_no END) AS block_no,
    MAX(CASE WHEN event = 'forged' THEN previous END) AS previous,
    MAX(CASE WHEN event = 'self_adopted' THEN size_bytes END) AS size_bytes,
    MAX(CASE WHEN event IN ('requested', 'adopted', 'self_adopted') OR (event = 'switched' AND NOT published) THEN length END) AS chain_delta
FROM block_events
CROSS JOIN method
GROUP BY host, block
