-- One row per block of the chain: its forging, how many rivals it had at its height, how many hosts have it, and whether all filters pass.
WITH rivals AS (
    SELECT block_no, COUNT(*) - 1 AS battles FROM known_blocks GROUP BY block_no
),

failed AS (
    SELECT
        block,
        MIN(CASE WHEN passes THEN 1 ELSE 0 END) AS accepted,
        STRING_AGG(CASE WHEN NOT passes THEN name END, ', ' ORDER BY place) AS rejected_by
    FROM block_verdicts
    GROUP BY block
)

SELECT
    block.*,
    rivals.battles,
    known.adopters,
    failed.accepted = 1 AS accepted,
    failed.rejected_by
FROM forged_blocks AS block
INNER JOIN known_blocks AS known ON known.block = block.block
INNER JOIN rivals ON rivals.block_no = block.block_no
INNER JOIN failed ON failed.block = block.block
