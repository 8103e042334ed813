"""Verdicts: from interval, adjusted p-value and margin to one word and the reason for it."""

import msgspec

from slotmark.compare.results.rows import limits
from slotmark.metrics import Better, Metric
from slotmark.numbers import (
    change,
    change_with_span,
    p_value,
    percent,
    quantity,
    signed_quantity,
    span,
)
from slotmark.statistics.interval import BOUNDS, Interval
from slotmark.verdict import Verdict


class Judgement(msgspec.Struct, frozen=True):
    """A verdict and the reason for it, in words.

    Attributes:
        verdict: It.
        reason: No capital, no full stop.
        drift: The interval with the widest drift of the level that noise may hide, where that alone keeps back another verdict.
    """

    verdict: Verdict
    reason: str
    drift: Interval | None = None


def withstanding(found: Judgement, widest: Interval, *, within: tuple[float, float], over: str) -> Judgement:
    """The judgement on single runs if it stands up to the widest drift of their level that noise may hide; else an undecided one.

    Better and worse do where no difference is outside the interval with that drift, equivalent where all of it lies within the margin.

    Args:
        found: The judgement by what shows within the runs.
        widest: Candidate over baseline, with the interval that has the drift.
        within: The ratios between which a difference doesn't matter.
        over: What is repeated within the runs, in the plural.
    """
    inside = within[0] <= widest.low and widest.high <= within[1]
    stands = inside if found.verdict == Verdict.EQUIVALENT else not widest.low <= 1 <= widest.high
    if found.verdict == Verdict.UNDECIDED or stands:
        return found
    return Judgement(
        Verdict.UNDECIDED,
        f"no verdict possible: the noise of {over} may hide a drift of the level, and with it the interval is {span(widest)}; several runs per side are needed "
        f"to know. Within these runs alone it is {found.verdict}: {found.reason}",
        widest,
    )


def judge(
    ratio: Interval,
    p_adjusted: float,
    *,
    margin: float,
    margin_words: str = "",
    better: Better,
    confidence: float,
    tests: int,
    bound: bool = False,
) -> Judgement:
    """The verdict on a ratio.

    - better, worse: the adjusted p-value is below 1 - confidence, the interval excludes 1, the estimate is beyond the margin;
    - equivalent: the whole interval is within the margin;
    - undecided: all else.

    Args:
        ratio: Candidate over baseline.
        p_adjusted: Over all tests of the comparison.
        margin: As a fraction of the baseline.
        margin_words: The same in the metric's unit, where it was set so; empty where it was set as a fraction.
        better: Which direction is an improvement.
        confidence: Confidence of the interval.
        tests: Over how many tests p was adjusted.
        bound: Whether p is an upper bound.
    """
    share = percent(margin)
    return _judged(
        ratio,
        _Words(
            limit=f"the margin of {margin_words} ({share} of the baseline)"
            if margin_words
            else f"the margin of {share}",
            change=change(ratio.estimate),
            ends=span(ratio),
            inside=span(ratio),
            with_ends=change_with_span(ratio),
            tests=tests,
            p=p_value(p_adjusted, bound=bound),
        ),
        none=1.0,
        within=limits(margin, absolute=bool(margin_words)),
        inside=ratio,
        shown=p_adjusted < 1 - confidence,
        better=better,
    )


def judge_amount(
    delta: Interval, bounds: Interval, p_adjusted: float, *, metric: Metric, confidence: float, tests: int
) -> Judgement:
    """The verdict on a difference from a baseline of 0 or below, of which nothing is a share: the metric's least difference is the margin.

    As :func:`judge`, but equivalent where the interval that decides is within the margin.

    Args:
        delta: Candidate less baseline, in the metric's unit.
        bounds: The same with the interval that decides.
        p_adjusted: Over all tests of the comparison.
        metric: Which; its least difference is above 0.
        confidence: Confidence of the first interval.
        tests: Over how many tests p was adjusted.
    """
    ends, inside = (
        " to ".join(dict.fromkeys(signed_quantity(end, metric.unit) for end in (one.low, one.high)))
        for one in (delta, bounds)
    )
    changed = signed_quantity(delta.estimate, metric.unit)
    return _judged(
        delta,
        _Words(
            limit=f"the margin of {quantity(metric.least, metric.unit)}",
            change=changed,
            ends=ends,
            inside=f"{inside} at {percent(BOUNDS)}",
            with_ends=changed if changed == ends else f"{changed} [{ends}]",
            tests=tests,
            p=p_value(p_adjusted),
        ),
        none=0.0,
        within=(-metric.least, metric.least),
        inside=bounds,
        shown=p_adjusted < 1 - confidence,
        better=metric.better,
    )


class _Words(msgspec.Struct, frozen=True):
    """The words of a reason: the margin, the difference alone, its interval, what must be within the margin, and more.

    The rest is the difference with its interval, how many tests there are, and the adjusted p-value.
    """

    limit: str
    change: str
    ends: str
    inside: str
    with_ends: str
    tests: int
    p: str


def _judged(
    found: Interval,
    words: _Words,
    *,
    none: float,
    within: tuple[float, float],
    inside: Interval,
    shown: bool,
    better: Better,
) -> Judgement:
    """The verdict on a ratio or a difference; ``none`` is that of no difference, and ``inside`` the interval that must be within the margin to be equivalent."""
    floor, ceiling = within
    excludes_none = found.low > none or found.high < none
    if floor <= inside.low and inside.high <= ceiling:
        return Judgement(Verdict.EQUIVALENT, f"the whole interval, {words.inside}, lies within {words.limit}")
    if excludes_none and not floor <= found.estimate <= ceiling and shown:
        improved = (found.estimate > none) == (better == "higher")
        return Judgement(
            Verdict.BETTER if improved else Verdict.WORSE,
            f"{words.with_ends}, beyond {words.limit}; adjusted p {words.p}",
        )
    if not excludes_none:
        above, below = inside.high > ceiling, inside.low < floor
        where = "on both sides" if above and below else "upwards" if above else "downwards"
        return Judgement(
            Verdict.UNDECIDED,
            f"the interval, {words.inside}, includes a difference of zero but reaches beyond {words.limit} {where}",
        )
    if not shown:
        return Judgement(
            Verdict.UNDECIDED,
            f"the interval, {words.ends}, excludes a difference of zero, but among {words.tests} tests that happens by chance: adjusted p {words.p}",
        )
    return Judgement(
        Verdict.UNDECIDED,
        f"there is a difference, {words.change}, but its interval, {words.ends}, leaves open whether it exceeds {words.limit}",
    )
