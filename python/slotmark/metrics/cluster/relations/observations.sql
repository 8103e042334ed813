-- The valid observations of the accepted blocks.
SELECT seen.*
FROM observed AS seen
INNER JOIN blocks AS block ON block.block = seen.block
WHERE block.accepted AND seen.valid
