-- One row per block of the chain that shares of hosts are counted for: it passes every filter but those on the number of its adoptions, which would leave
-- out the very blocks that hosts lost.
SELECT block.block, block.block_no, block.forger
FROM blocks AS block
WHERE NOT EXISTS (
    SELECT 1
    FROM block_verdicts AS verdict
    INNER JOIN filters ON filters.place = verdict.place
    WHERE verdict.block = block.block AND NOT verdict.passes AND filters.tag <> 'BMinimumAdoptions'
)
