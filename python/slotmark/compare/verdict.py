"""Verdicts: from interval, adjusted p-value and margin to one word and the reason for it."""

import msgspec

from slotmark.metrics import Better
from slotmark.numbers import change, change_with_span, p_value, percent, span
from slotmark.statistics.interval import Interval
from slotmark.verdict import Verdict


class Judgement(msgspec.Struct, frozen=True):
    """A verdict and the reason for it, in words."""

    verdict: Verdict
    reason: str


def withstanding(found: Judgement, widest: Interval, *, margin: float, over: str) -> Judgement:
    """The judgement on single runs if it stands up to the widest drift of their level that noise may hide; else an inconclusive one.

    Better and worse do where no difference is outside the interval with that drift, equivalent where all of it lies within the margin.

    Args:
        found: The judgement by what shows within the runs.
        widest: Candidate over baseline, with the interval that has the drift.
        margin: As a fraction of the baseline.
        over: What is repeated within the runs, in the plural.
    """
    inside = 1 / (1 + margin) <= widest.low and widest.high <= 1 + margin
    stands = inside if found.verdict == Verdict.EQUIVALENT else not widest.low <= 1 <= widest.high
    if found.verdict == Verdict.INCONCLUSIVE or stands:
        return found
    return Judgement(
        Verdict.INCONCLUSIVE,
        f"no verdict possible: the noise of {over} may hide a drift of the level, and with it the interval is {span(widest)}; several runs per side are needed "
        f"to know. Within these runs alone it is {found.verdict}: {found.reason}",
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

    A ratio lies within a margin m where it is between 1 / (1 + m) and 1 + m, so that swapping two runs turns
    ``better`` into ``worse`` and changes nothing else.

    - better, worse: the adjusted p-value is below 1 - confidence, the interval excludes 1, the estimate is beyond the margin;
    - equivalent: the whole interval is within the margin;
    - inconclusive: all else.

    Args:
        ratio: Candidate over baseline.
        p_adjusted: Over all tests of the comparison.
        margin: As a fraction of the baseline.
        margin_words: The same as it was set, with its unit; empty where it was set as a fraction.
        better: Which direction is an improvement.
        confidence: Confidence of the interval.
        tests: Over how many tests p was adjusted.
        bound: Whether p is an upper bound.
    """
    floor, ceiling = 1 / (1 + margin), 1 + margin
    alpha = 1 - confidence
    inside = floor <= ratio.low and ratio.high <= ceiling
    excludes_1 = ratio.low > 1 or ratio.high < 1
    beyond = ratio.estimate > ceiling or ratio.estimate < floor
    share = percent(margin)
    limit = f"the margin of {margin_words} ({share} of the baseline)" if margin_words else f"the margin of {share}"
    if inside:
        return Judgement(Verdict.EQUIVALENT, f"the whole interval, {span(ratio)}, lies within {limit}")
    if excludes_1 and beyond and p_adjusted < alpha:
        improved = (ratio.estimate > 1) == (better == "higher")
        return Judgement(
            Verdict.BETTER if improved else Verdict.WORSE,
            f"{change_with_span(ratio)}, beyond {limit}; adjusted p {p_value(p_adjusted, bound=bound)}",
        )
    if not excludes_1:
        above, below = ratio.high > ceiling, ratio.low < floor
        where = "on both sides" if above and below else "upwards" if above else "downwards"
        return Judgement(
            Verdict.INCONCLUSIVE,
            f"the interval, {span(ratio)}, includes a difference of zero but reaches beyond {limit} {where}",
        )
    if p_adjusted >= alpha:
        return Judgement(
            Verdict.INCONCLUSIVE,
            f"the interval, {span(ratio)}, excludes a difference of zero, but among {tests} tests that happens by chance: "
            f"adjusted p {p_value(p_adjusted, bound=bound)}",
        )
    return Judgement(
        Verdict.INCONCLUSIVE,
        f"there is a difference, {change(ratio.estimate)}, but its interval, {span(ratio)}, leaves open whether it exceeds {limit}",
    )
