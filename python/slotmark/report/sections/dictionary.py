"""The data dictionary: what each metric is."""

from collections.abc import Iterable

from slotmark.metrics import Metric
from slotmark.numbers import percent, quantity
from slotmark.report.document import Cell, Table, left


def dictionary(metrics: Iterable[Metric]) -> Table:
    """A line per metric: its definition, its margin, and how an established tool computes it."""
    titles = ("metric", "id", "unit", "better", "margin", "definition", "as published")
    rows = [
        (
            metric.name,
            metric.id,
            metric.unit or "-",
            metric.better,
            _margin(metric),
            metric.definition,
            metric.published or "the same",
        )
        for metric in dict.fromkeys(metrics)
    ]
    cells = [[Cell(one) for one in row] for row in rows]
    return Table(f"{len(rows)} metrics", left(*titles), cells, wide=True)


def _margin(metric: Metric) -> str:
    if not metric.tested:
        return "not tested"
    least = f", at least {quantity(metric.least, metric.unit)}" if metric.least else ""
    return f"{percent(metric.margin)}{least}"
