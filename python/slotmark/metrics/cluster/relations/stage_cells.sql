-- One row per traced block, stage, host where it took place and host that sent what it waited for (null of a stage of one host): how long
-- it took on average, in ns, and how many hosts' adoptions of the block waited for it. What is sent is in it too where no host waited for it.
WITH on_paths AS (
    SELECT block_no, step, stage, at_host, from_host, AVG(ns) AS ns, COUNT(*) AS waited
    FROM adoption_stages
    GROUP BY ALL
),

sent AS (
    SELECT
        block.block_no,
        theirs.host AS at_host,
        theirs.peer AS from_host,
        UNNEST([
            {'step': 10, 'stage': 'header on its way', 'ns': theirs.noticed_ts_ns - ours.announced_ts_ns},
            {'step': 12, 'stage': 'fetch', 'ns': theirs.fetched_ts_ns - theirs.requested_ts_ns}
        ], recursive := TRUE)
    FROM exchanges AS theirs
    INNER JOIN traced_blocks AS block ON block.block = theirs.block
    LEFT JOIN exchanges AS ours ON ours.block = theirs.block AND ours.host = theirs.peer AND ours.peer = theirs.host
)

SELECT block_no, step, stage, at_host, from_host, ns, waited
FROM on_paths
UNION ALL
SELECT sent.block_no, sent.step, sent.stage, sent.at_host, sent.from_host, sent.ns, 0 AS waited
FROM sent
ANTI JOIN on_paths
    ON
        on_paths.block_no = sent.block_no
        AND on_paths.stage = sent.stage
        AND on_paths.at_host = sent.at_host
        AND on_paths.from_host = sent.from_host
WHERE sent.ns IS NOT NULL
