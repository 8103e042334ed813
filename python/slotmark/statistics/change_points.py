"""Changes of level in series of runs, found run by run, so that what was found once stays where it is.

A series is looked at as it grew: each run is judged by those that were known before it. Where the newest runs differ from those before them, the place of the change is where
the two differ most, and Student's t tests it; once that is sure, the change is settled, and only later runs are looked at for the next. So a later run never moves a change.

Four things make it bear what series of benchmarks have. A run counts by its own interval: where what varies within it is much, it weighs little. A run's distance from its level is
cut at 2.5 standard deviations, so that a spike is one run that is off and no level. The standard deviation is Huber's (proposal 2), which takes two levels of one build for what they
are as soon as one run in six has the other. Runs that resemble the one before make a mean of few runs vary more: the autocorrelation of the level before, corrected for
its bias (Kendall 1954), counts. docs/history.md has the rates at which it errs.
"""

import math
from collections.abc import Sequence
from typing import Literal

import msgspec
import numpy as np

from slotmark import _core
from slotmark.statistics.between_runs import Spread
from slotmark.statistics.distributions import t_sf
from slotmark.statistics.rank_tests import holm

FIRST = _core.Levels.FIRST
"""Runs of a first level that it takes before anything is compared with it, where it isn't known otherwise what runs differ by."""

PLACES = 3.0
"""The factor on p-values because the place is the one where the two sides differ most: measured, docs/history.md."""

PLACED = 0.9
"""A change is settled as soon as its place is right within one run with this probability, or its new level has :attr:`Levels.HELD_BACK` runs."""

RISES = 80
"""Two changes in one direction with no more runs between them may be one drift."""

_LEAST_DRIFT = 12
_PENALTY = 5.0

Kind = Literal["step", "drift"]


class Rules(msgspec.Struct, frozen=True):
    """Settings of the search.

    Attributes:
        least: Runs of a new level that it takes to be sure of it.
        significance: The p-value, adjusted over all series that are looked at together, below which a change is sure.
        likely: That below which it is likely.
    """

    least: int = 3
    significance: float = 0.0001
    likely: float = 0.03


class Candidate(msgspec.Struct, frozen=True):
    """A change that the newest run shows.

    Attributes:
        first: The first run of the new level.
        p: p-value of no change there, for a place that was looked for.
        size: By how much the level changed.
        after: Runs of the new level.
        placed: The probability that the place is right within one run.
    """

    first: int
    p: float
    size: float
    after: int
    placed: float

    def is_sure(self, p: float, rules: Rules) -> bool:
        """Returns whether it is sure, by its adjusted p-value."""
        return (
            p < rules.significance
            and self.after >= rules.least
            and (self.placed >= PLACED or self.after >= max(_core.Levels.HELD_BACK, rules.least))
        )


class Change(msgspec.Struct, frozen=True, kw_only=True):
    """A change of level in a series, or what may become one.

    Attributes:
        series: Which.
        kind: A step, or a drift: the level went on in one direction over many runs.
        state: ``sure``: it is settled. ``likely``: it may fade. ``new``: one run, which may be a spike.
        first: The first run of the new level; of a drift the first that is off the level before.
        last: The first run of the last step that belongs to a drift; of a step as ``first``.
        known: The run with which it became sure, or the newest.
        p: Its p-value, adjusted over all series.
        size: By how much the level changed when it became sure, on the series' scale.
    """

    series: int
    kind: Kind
    state: Literal["sure", "likely", "new"]
    first: int
    last: int
    known: int
    p: float
    size: float


def changes(
    levels: np.ndarray,
    variances: np.ndarray,
    rules: Rules | None = None,
    *,
    known: Sequence[int] | None = None,
    weights: Sequence[float] | None = None,
    spreads: Sequence[Spread | None] | None = None,
) -> list[Change]:
    """The changes of some series of the same runs, those that are sure in the order in which they became so.

    Args:
        levels: Shape (runs, series), in the order of time; not a number where a run lacks a series.
        variances: Variance of each by what varies within the run, same shape; 0 where that isn't known.
        rules: Settings.
        known: The places of runs in the order in which they became known; None where that is the order of time.
        weights: The part of the error rate that each series has; None where all have the same.
        spreads: What is known of what runs of one build differ by, one per series: then few runs of a first level are enough. None where nothing is.
    """
    chosen = rules or Rules()
    count = levels.shape[1]
    known_before = [one and (one.variance, one.degrees) for one in spreads or [None] * count]
    each = _core.Levels(chosen.least, known_before)
    found: list[list[Change]] = [[] for _ in range(count)]
    last: dict[int, tuple[Candidate, float]] = {}
    order = range(len(levels)) if known is None else known
    for place in order:
        of_run = levels[place].tolist()
        for number in [one for one in last if not math.isnan(of_run[one])]:
            del last[number]
        newest = place == order[-1]
        shown = {
            number: Candidate(first, min(1.0, PLACES * 2 * float(t_sf(t, degrees))), size, after, placed)
            for number, first, t, degrees, size, after, placed in each.add(
                place, of_run, variances[place].tolist(), newest
            )
        }
        if not shown or min(one.p for one in shown.values()) >= chosen.likely:
            continue
        p_values = [shown[number].p if number in shown else 1.0 for number in range(count)]
        adjusted = holm(p_values, weights) if count > 1 else p_values
        for number, one in shown.items():
            if one.is_sure(adjusted[number], chosen):
                _settle(found[number], number, one, adjusted[number], place, levels[:, number])
                each.settle(number, one.first)
            elif adjusted[number] < chosen.likely:
                last[number] = one, adjusted[number]
    unsettled = [
        Change(
            series=number,
            kind="step",
            state="new" if one.after == 1 else "likely",
            first=one.first,
            last=one.first,
            known=each.newest(number),
            p=p,
            size=one.size,
        )
        for number, (one, p) in sorted(last.items())
    ]
    settled = sorted((one for of_one in found for one in of_one), key=lambda one: (one.known, one.series))
    return [*settled, *unsettled]


def _settle(found: list[Change], number: int, one: Candidate, p: float, place: int, levels: np.ndarray) -> None:
    """Notes a change that became sure, or that the drift before it goes on."""
    before = found[-1] if found else None
    if before and before.size * one.size > 0 and one.first - before.last <= RISES:
        so_far = levels[: place + 1]
        if before.kind == "drift" or _drifts(so_far, before.first, one.first):
            found[-1] = msgspec.structs.replace(before, kind="drift", last=one.first, size=before.size + one.size)
            return
    found.append(
        Change(
            series=number, kind="step", state="sure", first=one.first, last=one.first, known=place, p=p, size=one.size
        )
    )


def _drifts(levels: np.ndarray, first: int, second: int) -> bool:
    """Returns whether a level that goes on in one direction from about the first of two changes fits better than steps at both."""
    start = max(0, first - _core.Levels.LOOKED_AT // 2)
    there = np.flatnonzero(~np.isnan(levels[start:]))
    values, at = levels[start:][there], there.astype(float)
    first, second = first - start, second - start
    if at.size < _LEAST_DRIFT or (at >= first).sum() < _LEAST_DRIFT:
        return False
    ones = np.ones(at.size)
    steps = _squares(values, np.column_stack([ones, at >= first, at >= second]))
    begins = range(max(0, first - 30), first + 6, 2)
    slope = min(_squares(values, np.column_stack([ones, np.maximum(0.0, at - begin)])) for begin in begins)
    return slope < steps * (1 + _PENALTY / at.size)


def _squares(values: np.ndarray, design: np.ndarray) -> float:
    """The sum of squares that a linear model leaves."""
    left = values - design @ np.linalg.lstsq(design, values, rcond=None)[0]
    return float((left * left).sum())
