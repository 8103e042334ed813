SELECT i.setting, i.round, w.blocks, CAST(w.window_blocks AS DOUBLE) * 1e9 / w.window_ns AS value
FROM windows AS w
JOIN invocations AS i ON i.invocation = w.invocation
WHERE NOT i.warmup AND w.window_ns > 0
ORDER BY i.setting NULLS FIRST, i.round NULLS FIRST, w.blocks NULLS FIRST
