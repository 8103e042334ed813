-- The blocks of the chain, from one before the tip back to the first. The tip is the highest block; of several, the one that most
-- hosts adopted. It is left out because the run ended before it had spread. Where no log has a block's parent, the
-- parent is the block below it that most hosts adopted: a missing host costs its own blocks, not the chain.
WITH RECURSIVE ranked AS (
    SELECT
        block,
        block_no,
        previous,
        ROW_NUMBER() OVER (PARTITION BY block_no ORDER BY adopters DESC, block) AS place
    FROM known_blocks
),

best AS (
    SELECT block, block_no FROM ranked WHERE place = 1
),

parents AS (
    SELECT child.block, COALESCE(known_parent.block, best.block) AS parent
    FROM known_blocks AS child
    LEFT JOIN known_blocks AS known_parent ON known_parent.block = child.previous
    LEFT JOIN best ON best.block_no = child.block_no - 1
),

walk AS (
    SELECT block, FALSE AS counts FROM best WHERE block_no = (SELECT MAX(block_no) FROM best)
    UNION ALL
    SELECT parents.parent AS block, TRUE AS counts
    FROM walk
    INNER JOIN parents ON parents.block = walk.block
    WHERE parents.parent IS NOT NULL
)

SELECT block FROM walk WHERE counts
