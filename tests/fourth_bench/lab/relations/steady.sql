-- One row per kiln and minute, without the first ten.
SELECT kiln, minute, kelvin
FROM readings
WHERE minute >= 10
