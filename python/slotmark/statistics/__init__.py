"""Statistics: intervals, tests, adjustment and estimates as pure functions on arrays. They know nothing of runs or metrics."""
