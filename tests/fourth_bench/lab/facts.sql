-- What a manifest shows beside what it records.
SELECT 0 AS place, 'kilns' AS name, CAST(COUNT(DISTINCT kiln) AS DOUBLE) AS number, NULL AS text, 0 AS decimals
FROM readings
