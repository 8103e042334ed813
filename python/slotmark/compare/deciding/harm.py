"""The harm of a candidate, held against its margin: worse by more than it, shown not to be, or open."""

from slotmark.compare.results.rows import Difference, inverse, limits
from slotmark.metrics import Metric
from slotmark.numbers import percent, percent_change, quantity, signed_quantity
from slotmark.statistics.interval import BOUNDS, Interval
from slotmark.verdict import Verdict


def as_harm(metric: Metric, ratio: Interval | None) -> Interval | None:
    """A ratio that is above 1 where the candidate is worse."""
    return ratio if metric.better == "lower" else inverse(ratio)


def accepted_limits(difference: Difference, margin: float) -> tuple[float, float]:
    """The ratios between which a difference doesn't matter, or is accepted up to a larger share than the margin."""
    floor, ceiling = difference.limits
    up_to = limits(margin, absolute=False) if margin > difference.margin else (floor, ceiling)
    return min(floor, up_to[0]), max(ceiling, up_to[1])


def harm_limit(metric: Metric, difference: Difference, margin: float) -> float:
    """The harm up to which a difference doesn't matter, or is accepted; infinity where all of the baseline may go."""
    floor, ceiling = accepted_limits(difference, margin)
    if metric.better == "lower":
        return ceiling
    return 1 / floor if floor > 0 else float("inf")


def by_how_much(metric: Metric, difference: Difference, margin: float) -> str:
    """A difference with its margin, in words: as a share of the baseline, or in the metric's unit where there is none."""
    if difference.ratio is None and difference.delta is not None and difference.margin_absolute is not None:
        changed = signed_quantity(difference.delta.estimate, metric.unit)
        return f"{changed} (margin {quantity(difference.margin_absolute, metric.unit)})"
    change = percent_change(difference.ratio.estimate) if difference.ratio else "?"
    return f"{change} % ({_margin(difference, margin)})"


def _margin(difference: Difference, margin: float) -> str:
    """The margin in words, or the larger share that is accepted beside it."""
    if margin > difference.margin:
        return f"accepted up to {percent(margin)}, margin {percent(difference.margin)}"
    return f"margin {percent(margin)}"


def is_worse(metric: Metric, difference: Difference, margin: float) -> bool:
    """Returns whether the candidate is worse, and by more than what is accepted."""
    harm = as_harm(metric, difference.ratio)
    beyond = harm is None or harm.estimate > harm_limit(metric, difference, margin)
    return difference.verdict == Verdict.WORSE and beyond


def not_worse(metric: Metric, difference: Difference, margin: float) -> bool:
    """Returns whether it is shown that the candidate isn't worse by more than the margin."""
    if difference.ratio is None:
        return difference.verdict in (Verdict.EQUIVALENT, Verdict.BETTER)
    if difference.p_adjusted is None:
        return difference.verdict == Verdict.EQUIVALENT
    bounds = as_harm(metric, difference.bounds)
    return bounds is not None and bounds.high <= harm_limit(metric, difference, margin)


def why_open(metric: Metric, difference: Difference, margin: float) -> str:
    """Returns the words for a row on which the margin gives no answer."""
    bounds = as_harm(metric, difference.bounds)
    if is_worse(metric, difference, margin):
        return "worse in these runs; too few runs for a verdict on the build"
    if bounds is None or difference.p_adjusted is None:
        return difference.reason
    worst = percent_change(bounds.high if metric.better == "lower" else 1 / bounds.high)
    beyond = (
        f"what is accepted ({_margin(difference, margin)})"
        if margin > difference.margin
        else f"the margin of {percent(margin)}"
    )
    return f"may be worse by more than {beyond}: up to {worst} % by the {percent(BOUNDS)} interval"
