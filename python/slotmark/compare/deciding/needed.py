"""The further measurements that would decide what is open."""

from collections.abc import Callable

import numpy as np

from slotmark.compare.deciding.harm import as_harm, harm_limit
from slotmark.compare.result import Comparison
from slotmark.compare.results.decision import Needed
from slotmark.compare.results.rows import Basis, Difference, Row
from slotmark.metrics import Metric
from slotmark.statistics.anytime import FIRST_LOOK, limit_of_looks
from slotmark.statistics.distributions import t_isf
from slotmark.statistics.interval import BOUNDS
from slotmark.statistics.planning import POWER, size_needed
from slotmark.statistics.rank_tests import error_share
from slotmark.warnings import ENOUGH_RUNS, SHOWING_ROUNDS

HALF = 0.5
"""The share of sessions that as many rounds as are named decide, where rounds come one by one: those that they don't go on."""


def units_needed(found: Comparison, metric: Metric, difference: Difference, margin: float) -> Needed | None:
    """Returns the units per side that would be enough, if the difference were the one that was seen; None where that is unknown."""
    basis, bounds = difference.basis, as_harm(metric, difference.bounds)
    if found.at_any_look and basis is not None and min(basis.counts) < FIRST_LOOK:
        return Needed(basis.over, min(basis.counts), FIRST_LOOK)
    if bounds is None or basis is None or difference.p_adjusted is None or min(bounds.low, bounds.high) <= 0:
        return None
    size = min(basis.counts)
    # This many on each side would be as informative as what there is on both.
    even = 2 / sum(1 / count for count in basis.counts) if basis.unit.pooled else size
    degrees = _degrees(basis)
    level = (1 - BOUNDS) / 2
    reach = (
        limit_of_looks(2 * level, size)
        if found.at_any_look
        else float(t_isf(level, basis.degrees or (degrees(size) if degrees else np.inf)))
    )
    error = float(np.log(bounds.high / bounds.low)) / 2 / reach
    seen, limit = float(np.log(bounds.estimate)), float(np.log(harm_limit(metric, difference, margin)))
    distance, alpha = (
        (limit - seen, level) if seen < limit else (seen, (1 - found.confidence) / 2 * share_of_errors(found))
    )
    fixed = difference.detail.error_of_blocks or 0.0 if difference.detail else 0.0
    if not np.isfinite(error) or distance <= 0:
        return None
    unclear = basis.unit.in_session and basis.effective[0] < size
    if unclear:
        # So few rounds don't show whether ratios resemble the ones before; more mostly show that they don't.
        error *= float(np.sqrt(basis.effective[0] / size))
    total = size_needed(
        distance,
        error,
        even,
        fixed=min(fixed, error),
        degrees=degrees,
        limit=(lambda one_sided, units: limit_of_looks(2 * one_sided, units)) if found.at_any_look else None,
        alpha=alpha,
        wanted=HALF if found.at_any_look else POWER,
    )
    least = max(size + 1, SHOWING_ROUNDS if unclear else 0)
    return None if total is None else Needed(basis.over, size, max(total, least))


def _degrees(basis: Basis) -> Callable[[int], float] | None:
    """Degrees of freedom of an error from a number of units a side; None where they are many."""
    if not basis.unit.pooled:
        return basis.unit.degrees
    # Beside those of the runs themselves, what a prior or other metrics and sides add stays.
    more = basis.degrees - (sum(basis.counts) - 2)
    return lambda units: max(2 * (units - 1) + more, 1)


def share_of_errors(found: Comparison) -> float:
    """The part of the error rate that a test of a decisive metric has."""
    tested = [
        row.metric.rank == "decisive"
        for row in found.rows
        for one in row.differences
        if one and one.p_adjusted is not None
    ]
    return error_share(found.tests, sum(tested), decides=True) / found.comparisons


def enough_runs(row: Row, basis: Basis | None) -> Needed | None:
    """Returns the runs per side, or pairs of them, that a statement about other runs needs; None where nothing is repeated, or one session is enough."""
    if basis is None or basis.unit.in_session:
        return None
    return Needed(basis.over if basis.of_runs else "runs", _runs(row, basis), ENOUGH_RUNS)


def _runs(row: Row, basis: Basis | None) -> int:
    """Returns the number of runs of the side with fewer."""
    if basis is not None and basis.of_runs:
        return min(basis.counts)
    return min(summary.runs for summary in row.summaries if summary)
