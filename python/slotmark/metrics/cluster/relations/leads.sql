-- One row per host and slot that it led.
SELECT DISTINCT host, slot FROM slot_events WHERE event = 'leader' AND slot IS NOT NULL
