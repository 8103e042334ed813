-- One row per stretch between two progress records of an invocation that counts.
SELECT invocations.setting, invocations.round, windows.blocks, windows.window_blocks, windows.window_ns
FROM windows
INNER JOIN invocations ON invocations.invocation = windows.invocation
WHERE NOT invocations.warmup
