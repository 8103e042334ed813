-- One row per block of the chain and host that didn't forge it and noticed, requested and fetched it: each phase in ns.
-- Valid are those that adopted it as the next block, with no phase of notice, request, fetch and adoption missing or negative.
WITH phases AS (
    SELECT
        block.block,
        block.block_no,
        seen.host,
        seen.chain_delta,
        seen.adopted_ts_ns,
        seen.noticed_ts_ns - block.slot_start_ns AS noticed_ns,
        seen.requested_ts_ns - seen.noticed_ts_ns AS requested_ns,
        seen.fetched_ts_ns - seen.requested_ts_ns AS fetched_ns,
        seen.announced_ts_ns - seen.fetched_ts_ns AS announced_ns,
        seen.sending_ts_ns - seen.fetched_ts_ns AS sending_ns,
        seen.adopted_ts_ns - seen.fetched_ts_ns AS adopted_ns
    FROM forged_blocks AS block
    INNER JOIN sightings AS seen ON seen.block = block.block
    WHERE
        seen.forged_ts_ns IS NULL
        AND seen.noticed_ts_ns IS NOT NULL
        AND seen.requested_ts_ns IS NOT NULL
        AND seen.fetched_ts_ns IS NOT NULL
)

SELECT
    block,
    block_no,
    host,
    chain_delta,
    adopted_ts_ns,
    noticed_ns,
    requested_ns,
    fetched_ns,
    announced_ns,
    sending_ns,
    adopted_ns,
    COALESCE(noticed_ns >= 0 AND requested_ns >= 0 AND fetched_ns >= 0 AND adopted_ns >= 0 AND chain_delta = 1, FALSE) AS valid
FROM phases
