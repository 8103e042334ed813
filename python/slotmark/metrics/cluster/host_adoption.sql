SELECT '' AS setting, host, CAST(ns / 1e9 AS DOUBLE) AS value
FROM (
    SELECT host, AVG(adopted_ns) AS ns FROM adoptions
    GROUP BY host)
