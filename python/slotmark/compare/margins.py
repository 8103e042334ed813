"""Margins: how large a difference must be to matter, as it is given."""

from collections.abc import Mapping, Sequence

import msgspec

from slotmark.errors import ComparisonError, did_you_mean
from slotmark.metrics import Metric


def least_that_matters(metric: Metric, base: float) -> float | None:
    """The smallest difference that matters, in the metric's unit, where it is more than the margin's share of the baseline; else None.

    Args:
        metric: With its margin and least difference.
        base: The baseline's mean, above 0.
    """
    return metric.least if metric.least > metric.margin * base else None


def margin_of(metric: Metric, base: float) -> float:
    """The margin in force, as a share of the baseline's mean, which is above 0."""
    absolute = least_that_matters(metric, base)
    return metric.margin if absolute is None else absolute / base


def with_margins(metrics: Sequence[Metric], margins: Mapping[str, float]) -> list[Metric]:
    """The metrics with these equivalence margins, fractions by metric id, in the place of the catalogue's.

    Raises:
        ComparisonError: A margin is of no tested metric, or is no fraction from 0 on.
    """
    known = [metric.id for metric in metrics if metric.tested]
    for metric_id, margin in margins.items():
        if metric_id not in known:
            raise ComparisonError(
                f"A margin for '{metric_id}', which isn't tested.{did_you_mean(metric_id, known)} Tested are: {', '.join(known)}."
            )
        if not 0 <= margin < float("inf"):
            raise ComparisonError(f"The margin of '{metric_id}' is {margin}, but it's a fraction from 0 on. Try 0.02.")
    return [msgspec.structs.replace(metric, margin=margins.get(metric.id, metric.margin)) for metric in metrics]
