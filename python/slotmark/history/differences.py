"""Differences of two versions, or of two runs that follow each other, by the estimates that a store has of them."""

from collections.abc import Sequence

import msgspec
import numpy as np

from slotmark.compare.margins import margin_of
from slotmark.compare.verdict import Judgement, judge
from slotmark.history.columns import Column, Estimates
from slotmark.history.results import FoundChange
from slotmark.metrics import Metric
from slotmark.statistics.between_runs import RunMean, Spread, combined, pooled_levels
from slotmark.statistics.interval import Interval
from slotmark.statistics.mean_difference import chance_of_runs, difference_of_runs, from_scale
from slotmark.statistics.rank_tests import error_share, holm
from slotmark.statistics.student import student

CONFIDENCE = 0.95


class Difference(msgspec.Struct, frozen=True, kw_only=True):
    """A metric in two versions.

    Attributes:
        metric: Id of the metric.
        part: Which of its samples.
        before: The mean of the earlier version's runs, in the metric's unit.
        after: That of the later one's.
        ratio: After over before, with its interval; None where ``before`` isn't above 0, or nothing is known of what runs of one build differ by.
        delta: After less before, likewise in the metric's unit.
        judgement: The verdict and its reason; None without an interval.
    """

    metric: str
    part: str
    before: float
    after: float
    ratio: Interval | None
    delta: Interval | None
    judgement: Judgement | None


def spread_of(estimates: Estimates, column: Column, changes: Sequence[FoundChange]) -> Spread | None:
    """The spread of runs of one build in a series: by versions with several runs and by what was known before, else by the runs between its changes; None where nothing tells.

    Sure changes are no part of it: runs of one version before and after a step differ by more than chance, and those of a drift are of no level.

    Args:
        estimates: The runs.
        column: The series.
        changes: Its changes.
    """
    places = {str(row["run"]): place for place, row in enumerate(estimates.rows)}
    spells, drifting = np.zeros(len(places), np.int64), np.zeros(len(places), bool)
    for one in changes:
        if one.state in ("sure", "by E-divisive"):
            spells[places[one.run] :] += 1
            drifting[places[one.run] : places[one.reached]] = True
    there = np.flatnonzero(~np.isnan(column.levels) & ~drifting)
    if not there.size:
        return column.spread
    levels, within, spell = column.levels[there], column.variances[there], spells[there]
    of_build = estimates.version_numbers[there] * (len(changes) + 1) + spell
    repeated = pooled_levels(levels, within, of_build)
    between = None if repeated or column.spread else pooled_levels(levels, within, spell)
    return combined(repeated, column.spread) or between


def differences(
    estimates: Estimates,
    metrics: Sequence[Metric],
    spreads: dict[tuple[str, str], Spread | None],
    before: Sequence[int],
    after: Sequence[int],
) -> list[Difference]:
    """All metrics that are tested in two versions, each run counting once; p-values are adjusted over these metrics.

    Args:
        estimates: The runs.
        metrics: Their metrics.
        spreads: What runs of one build differ by, of each series.
        before: Places of the runs of the earlier version.
        after: Places of those of the later one.
    """
    by_id = {metric.id: metric for metric in metrics if metric.tested}
    found = []
    for (metric_id, part), column in estimates.columns.items():
        ours, theirs = column.mean_of(before), column.mean_of(after)
        if metric_id not in by_id or not (ours and theirs):
            continue
        spread = spreads[metric_id, part]
        one = difference_of_runs(ours, theirs, spread or Spread(0.0, np.inf), confidence=CONFIDENCE, scale=column.scale)
        found.append((by_id[metric_id], part, one, spread))
    tested = [(metric, one) for metric, _, one, spread in found if spread and one.base is not None and one.base > 0]
    decides = [metric.rank == "decisive" for metric, _ in tested]
    shares = [error_share(len(tested), sum(decides), decides=one) for one in decides]
    adjusted = iter(holm([one.p for _, one in tested], shares))
    made = []
    for metric, part, one, spread in found:
        base = one.base or 0.0
        ratio = judgement = None
        if spread and base > 0:
            ratio = one.delta.from_base(base)
            judgement = judge(
                ratio,
                next(adjusted),
                margin=margin_of(metric, base),
                better=metric.better,
                confidence=CONFIDENCE,
                tests=len(tested),
            )
        made.append(
            Difference(
                metric=metric.id,
                part=part,
                before=base,
                after=base + one.delta.estimate,
                ratio=ratio,
                delta=one.delta if spread else None,
                judgement=judgement,
            )
        )
    return made


class Step(msgspec.Struct, frozen=True):
    """The difference of a run from the one before it.

    Attributes:
        size: After over before where levels are on a scale of logarithms, else after less before, in the metric's unit.
        beyond: Whether it is more than two runs of one build differ by by chance (95 %).
    """

    size: float
    beyond: bool


def step_to(column: Column, place: int, reach: float | None) -> Step | None:
    """The difference of the run at a place from the one before it, with the reach of such differences; None where there is none before it, or that lacks the metric."""
    if not place or np.isnan(column.levels[place - 1]):
        return None
    delta = float(column.levels[place] - column.levels[place - 1])
    return Step(from_scale(delta, column.scale), reach is not None and abs(delta) > reach)


def steps_by_chance(column: Column, reach: float) -> Interval:
    """The sizes of a :class:`Step` that two runs of one build differ by by chance (95 %)."""
    return Interval(*(from_scale(one, column.scale) for one in (0.0, -reach, reach)))


def reach_of_pair(spread: Spread) -> float:
    """Half the width of the interval of a difference of two runs, on the metric's scale."""
    chance = chance_of_runs([[RunMean(0.0, 0.0)]] * 2, spread)
    return student(0.0, float(np.sqrt(chance.variance)), chance.degrees, CONFIDENCE).interval.high
