-- One row per host and slot that it led.
SELECT host, slot FROM slots_told WHERE leads > 0
