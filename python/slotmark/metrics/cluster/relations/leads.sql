-- One row per host and slot that it led.
SELECT host, slot FROM slot_rows WHERE leads > 0
