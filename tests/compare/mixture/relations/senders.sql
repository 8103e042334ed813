SELECT block, host, sender FROM adoptions
