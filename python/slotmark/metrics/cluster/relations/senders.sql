-- One row per accepted block and host that fetched it: the host that it was first fetched from.
SELECT block.block_no, hop.host, hop.peer AS from_host
FROM hops AS hop
INNER JOIN blocks AS block ON block.block = hop.block
WHERE block.accepted
