-- One row per accepted block whose way to all hosts is worked out: every block, but in a long run only every second, third and so on, so many
-- that there are no more than about 150,000 adoptions of them.
SELECT block.block, block.block_no
FROM blocks AS block
CROSS JOIN (SELECT 1 + COUNT(*) // 150000 AS every FROM adoptions) AS thinned
WHERE block.accepted AND block.block_no % thinned.every = 0
