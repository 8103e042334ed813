"""The difference of a comparison that a test looks at."""

from slotmark.compare import Comparison, Difference


def difference(comparison: Comparison, metric: str) -> Difference:
    """The first candidate's difference in the only row of a metric."""
    (row,) = (row for row in comparison.rows if row.metric.id == metric)
    found = row.differences[0]
    assert found is not None
    return found
