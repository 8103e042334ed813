-- One row per host and slot of a block, where the host looked whether it leads: when it did each step of the forge loop.
SELECT * FROM forge_loops WHERE slot IN (SELECT slot FROM known_blocks)
