"""Verdicts: from interval, adjusted p-value and margin to one word and the reason for it."""

import msgspec

from slotmark.compare.comparison import Verdict
from slotmark.metrics.catalogue import Better
from slotmark.statistics.interval import Interval

ENOUGH_ROUNDS = 5
"""Below so many rounds, or whatever else was repeated, no verdict is given."""


class Decision(msgspec.Struct, frozen=True):
    """A verdict and the reason for it, in words."""

    verdict: Verdict
    reason: str


def decide(
    ratio: Interval, p_adjusted: float, *, margin: float, better: Better, confidence: float, tests: int
) -> Decision:
    """The verdict on a ratio.

    A ratio lies within a margin m where it is between 1 / (1 + m) and 1 + m, so that swapping two runs turns
    ``better`` into ``worse`` and changes nothing else.

    - better, worse: the adjusted p-value is below 1 - confidence, the interval excludes 1, the estimate is beyond the margin;
    - equivalent: the whole interval is within the margin;
    - inconclusive: all else.

    Args:
        ratio: Candidate over baseline.
        p_adjusted: Over all tests of the comparison.
        margin: As a fraction of the baseline.
        better: Which direction is an improvement.
        confidence: Of the interval.
        tests: Over how many tests p was adjusted.
    """
    floor, ceiling = 1 / (1 + margin), 1 + margin
    alpha = 1 - confidence
    inside = floor <= ratio.low and ratio.high <= ceiling
    excludes_1 = ratio.low > 1 or ratio.high < 1
    beyond = ratio.estimate > ceiling or ratio.estimate < floor
    limit = f"the margin of {share(margin)}"
    if inside:
        return Decision("equivalent", f"the whole interval, {span(ratio)}, lies within {limit}")
    if excludes_1 and beyond and p_adjusted < alpha:
        improved = (ratio.estimate > 1) == (better == "higher")
        return Decision(
            "better" if improved else "worse",
            f"{change(ratio.estimate)} ({span(ratio)}), beyond {limit}; adjusted p {p_value(p_adjusted)}",
        )
    if not excludes_1:
        above, below = ratio.high > ceiling, ratio.low < floor
        where = "on both sides" if above and below else "upwards" if above else "downwards"
        return Decision(
            "inconclusive", f"the interval, {span(ratio)}, holds no difference but reaches beyond {limit} {where}"
        )
    if p_adjusted >= alpha:
        return Decision(
            "inconclusive",
            f"the interval, {span(ratio)}, excludes no difference, but among {tests} tests that happens by chance: "
            f"adjusted p {p_value(p_adjusted)}",
        )
    return Decision(
        "inconclusive",
        f"there is a difference, {change(ratio.estimate)}, but its interval, {span(ratio)}, doesn't tell whether it exceeds {limit}",
    )


def change(ratio: float) -> str:
    """A ratio in words: ``+3.2 %``, or ``4.1 times`` from a doubling on and ``1/4.1`` from a halving on."""
    if ratio >= 2:
        return f"{ratio:.3g} times"
    if ratio <= 0.5:
        return f"1/{1 / ratio:.3g}" if ratio > 0 else "0"
    return f"{_percent(ratio)} %"


def span(ratio: Interval) -> str:
    """An interval in the words of :func:`change`."""
    if ratio.low > 0.5 and ratio.high < 2:
        low, high, unit = _percent(ratio.low), _percent(ratio.high), " %"
    else:
        low, high, unit = change(ratio.low), change(ratio.high), ""
    return f"{low}{unit}" if low == high else f"{low} to {high}{unit}"


def share(fraction: float) -> str:
    """A fraction as a percentage: ``2 %``, ``0.5 %``."""
    percent = 100 * fraction
    return f"{percent:,.0f} %" if percent >= 1_000 else f"{percent:.3g} %"


def p_value(p: float) -> str:
    """A p-value with two significant digits."""
    return f"{p:.2g}"


def _percent(ratio: float) -> str:
    percent = 100 * (ratio - 1)
    digits = 1 if abs(percent) >= 0.95 else 2
    text = f"{percent:+.{digits}f}"
    return "0" if float(text) == 0 else text
