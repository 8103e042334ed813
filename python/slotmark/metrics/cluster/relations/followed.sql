-- One row per accepted block and host that adopted it and didn't forge it: when, in ns since the slot's start. Observations that aren't valid are
-- left out; a host whose log has no headers, as Dugite's, has none at all, and all its adoptions count.
SELECT adoption.block_no, adoption.host, adoption.adopted_ns
FROM adoptions AS adoption
INNER JOIN blocks AS block ON block.block = adoption.block
LEFT JOIN observed AS seen ON seen.block = adoption.block AND seen.host = adoption.host
WHERE adoption.host <> block.forger AND COALESCE(seen.valid, TRUE)
