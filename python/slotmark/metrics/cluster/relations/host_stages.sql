-- One row per accepted block, host that fetched it, and stage of its propagation there, in ns; of the host from which it was fetched first.
WITH moments AS (
    SELECT
        hop.block,
        hop.host,
        UNNEST([
            {'stage': 'header on its way', 'ns': hop.noticed_ts_ns - hop.announced_ts_ns},
            {'stage': 'notice to request', 'ns': hop.requested_ts_ns - hop.noticed_ts_ns},
            {'stage': 'fetch', 'ns': hop.fetched_ts_ns - hop.requested_ts_ns},
            {'stage': 'arrival to announced', 'ns': seen.announced_ts_ns - hop.fetched_ts_ns},
            {'stage': 'arrival to adopted', 'ns': seen.adopted_ts_ns - hop.fetched_ts_ns}
        ], recursive := TRUE)
    FROM hops AS hop
    INNER JOIN sightings AS seen ON seen.block = hop.block AND CAST(seen.host AS VARCHAR) = hop.host
)

SELECT block.block_no, moments.host, moments.stage, moments.ns
FROM moments
INNER JOIN blocks AS block ON block.block = moments.block
WHERE block.accepted AND moments.ns IS NOT NULL
