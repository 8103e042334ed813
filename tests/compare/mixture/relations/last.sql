SELECT block, MAX(adopted_s) AS adopted_s FROM adoptions GROUP BY block
