-- One row per host and analysed slot that it led and that has no block of it, in its log or another: the node failed to make one. Slots of the last 20 s of
-- its log don't count, nor those that have a block whose forger no log names.
SELECT lead.host, lead.slot
FROM leads AS lead
INNER JOIN slot_verdicts AS verdict ON verdict.slot = lead.slot AND verdict.counts
INNER JOIN hosts ON hosts.host = lead.host
CROSS JOIN genesis
WHERE
    hosts.last_ts_ns >= genesis.system_start_ns + lead.slot * genesis.slot_ns + CAST(20e9 AS BIGINT)
    AND NOT EXISTS (
        SELECT 1
        FROM known_blocks AS block
        WHERE block.slot = lead.slot AND COALESCE(block.forger = lead.host, TRUE)
    )
