-- One row per host and slot of a block, where the host looked whether it leads: when it did each step of the forge loop. Steps are
-- taken from their own slot; the established tool takes the latest it has seen, whichever slot that was in.
SELECT host, slot, leads, started_ts_ns, context_ts_ns, state_ts_ns, view_ts_ns, leading_ts_ns, ticked_ts_ns, snapshot_ts_ns
FROM slot_rows
WHERE events > 0 AND slot IN (SELECT slot FROM known_blocks)
