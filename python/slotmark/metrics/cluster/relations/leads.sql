-- One row per host and slot that it led.
SELECT host, slot FROM forge_loops WHERE leads > 0
