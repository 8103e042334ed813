"""From an estimate to a verdict, and the reason for it in words."""

from collections.abc import Sequence

from slotmark.compare.comparison import Interval, Verdict
from slotmark.metrics.catalogue import Better


def holm(p_values: Sequence[float]) -> list[float]:
    """Holm's adjustment: p-values that hold for the whole family of tests."""
    order = sorted(range(len(p_values)), key=lambda place: p_values[place])
    adjusted, largest = [0.0] * len(p_values), 0.0
    for rank, place in enumerate(order):
        largest = max(largest, min(1.0, p_values[place] * (len(p_values) - rank)))
        adjusted[place] = largest
    return adjusted


def judge(ratio: Interval, p_adjusted: float, margin: float, better: Better, confidence: float) -> tuple[Verdict, str]:
    """The verdict on a ratio of candidate over baseline.

    ``better`` and ``worse`` need three things: the interval excludes 1, the adjusted p-value is below 1 - confidence, and
    the estimate lies beyond the margin. ``equivalent`` needs the whole interval within the margin. Anything else is
    ``inconclusive``.
    """
    interval = f"the interval {ratio.low:.3g} to {ratio.high:.3g}"
    within = f"the margin of {margin:.3g}"
    if ratio.low >= 1 - margin and ratio.high <= 1 + margin:
        return "equivalent", f"{interval} lies within {within}"
    excludes = ratio.low > 1 or ratio.high < 1
    significant = p_adjusted < 1 - confidence
    if excludes and significant and abs(ratio.estimate - 1) > margin:
        improved = (ratio.estimate > 1) == (better == "higher")
        return ("better" if improved else "worse"), f"{interval} excludes 1 and the ratio lies beyond {within}"
    if not excludes:
        return "inconclusive", f"{interval} holds 1 and reaches beyond {within}"
    if not significant:
        return "inconclusive", f"{interval} excludes 1, but not when all tests are taken together"
    return "inconclusive", f"{interval} excludes 1, but the ratio lies within {within}"
