"""Statistics: intervals, tests, adjustment and estimates as pure functions on arrays. They don't depend on runs or metrics."""
