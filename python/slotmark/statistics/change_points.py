"""Changes of level in series of runs, found run by run, so that what was found once stays where it is.

A series is looked at as it grew: each run is judged by those that were known before it. Where the newest runs differ from those before them, the place of the change is where
the two differ most, and Student's t tests it; once that is sure, the change is settled, and only later runs are looked at for the next. So a later run never moves a change.

Four things make it bear what series of benchmarks have. A run counts by its own interval: where what varies within it is much, it weighs little. A run's distance from its level is
cut at 2.5 standard deviations, so that a spike is one run that is off and no level. The standard deviation is Huber's (proposal 2), which takes two levels of one build for what they
are as soon as one run in six has the other. Runs that resemble the one before make a mean of few runs vary more: the autocorrelation of the level before, corrected for
its bias (Kendall 1954), counts. docs/history.md has the rates at which it errs.
"""

import math
from bisect import bisect_left
from collections.abc import Sequence
from typing import Literal

import msgspec
import numpy as np

from slotmark.statistics.between_runs import Spread
from slotmark.statistics.distributions import t_sf
from slotmark.statistics.location import MAD_SCALE
from slotmark.statistics.rank_tests import holm

LOOKED_AT = 120
"""The newest runs of a level that are looked at: of older ones no more is learned."""

FIRST = 12
"""Runs of a first level that it takes before anything is compared with it, where it isn't known otherwise what runs differ by."""

CUT = 2.5
"""Standard deviations from its level at which a run's distance is cut."""

_CUT_VARIANCE = 0.9765
"""The variance of a standard normal variable that is cut there."""

PLACES = 3.0
"""The factor on p-values because the place is the one where the two sides differ most: measured, docs/history.md."""

PLACED, HELD_BACK = 0.9, 8
"""A change is settled as soon as its place is right within one run with this probability, or after so many runs of the new level."""

MOST_DEGREES = 30.0
"""The spread of earlier levels counts for at most this many degrees of freedom."""

_FEW = 30
"""Up to this many runs since the last change each is tested; later only where a cumulative sum shows that there may be something."""

_SLACK, _SCREEN = 0.5, 3.0
"""The amount that the cumulative sum loses with each run, and the sum from which on a test is made, in standard deviations. No change can be sure below 4.5."""

_REFRESH = 30
"""Runs after which the level that the cumulative sum is about is computed anew."""

_EQUAL = 1e-6
"""The standard deviation, as a share of the level, of runs that were all equal."""

_RIGHT = 2.0
"""The degrees of freedom by which the spread of the new level is taken for that of the old one."""

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
            and (self.placed >= PLACED or self.after >= max(HELD_BACK, rules.least))
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


class Series:
    """A series that is looked at run by run. Runs are known by their places, which rise with time.

    Args:
        rules: Settings.
        spread: What is known of what runs of one build differ by; None where nothing is.
    """

    def __init__(self, rules: Rules, spread: Spread | None = None) -> None:
        self._rules = rules
        self.places: list[int] = []
        self._levels: list[float] = []
        self._variances: list[float] = []
        self._before = None if spread is None else (spread.variance, min(spread.degrees, MOST_DEGREES))
        self._settled = False
        self._alike: tuple[float, float] = (0.0, 0.0)
        self._found_alike: tuple[float, float] = (0.0, 0.0)
        self._centre = self._spread = 0.0
        self._up = self._down = 0.0
        self._fresh = 0

    def add(self, place: int, level: float, variance: float, *, newest: bool = False) -> Candidate | None:
        """Takes a run; returns the change that it shows, None for none. A run from before the last settled change shows none.

        Args:
            place: Place of the run.
            level: Its level.
            variance: Variance of that by what varies within the run; 0 where that isn't known.
            newest: Whether it is the last: then a single run that is off is looked for, too.
        """
        if self.places and place < self.places[-1]:
            if place < self.places[0] and self._settled:
                return None
            at = bisect_left(self.places, place)
            self._fresh = 0
        else:
            at = len(self.places)
        self.places.insert(at, place)
        self._levels.insert(at, level)
        self._variances.insert(at, variance)
        count = len(self._levels)
        if count <= self._least_before:
            return None
        if count > _FEW and not self._may_differ(level) and not newest:
            return None
        return self._candidate()

    def settle(self, found: Candidate) -> None:
        """Takes a change for sure: what comes is compared with the runs since then."""
        at = bisect_left(self.places, found.first)
        before = np.array(self._levels[max(0, at - LOOKED_AT) : at])
        if before.size > 1:
            own, degrees = _spread(before, _median(before)) ** 2, min(before.size - 1.0, MOST_DEGREES)
            variance, known = self._before or (0.0, 0.0)
            together = degrees + known
            self._before = (degrees * own + known * variance) / together, min(together, MOST_DEGREES)
        else:
            self._before = self._before or (0.0, 0.0)
        self._settled = True
        self._alike = self._found_alike
        for each in (self.places, self._levels, self._variances):
            del each[:at]
        self._fresh = 0

    @property
    def _least_before(self) -> int:
        """Runs before a change that it takes: one is enough of a first level where it is known what runs differ by."""
        if self._before is None:
            return FIRST
        return self._rules.least if self._settled else 1

    def _may_differ(self, level: float) -> bool:
        """Returns whether cumulative sums about the level so far leave room for a change; far cheaper than a test."""
        if self._fresh == 0:
            before = np.array(self._levels[-LOOKED_AT:-1])
            self._centre = _median(before)
            self._spread = _spread(before, self._centre)
            self._up = self._down = 0.0
            for one in self._levels[-20:-1]:
                self._sum_up(one)
            self._fresh = _REFRESH
        self._fresh -= 1
        self._sum_up(level)
        return self._up >= _SCREEN or self._down >= _SCREEN

    def _sum_up(self, level: float) -> None:
        if self._spread == 0:  # all were equal
            self._up = math.inf if level != self._centre else 0.0
            return
        away = (level - self._centre) / self._spread
        # Comparisons in place of min and max, whose calls took a tenth of the time of all changes of a store.
        away = -CUT if away < -CUT else CUT if away > CUT else away
        up, down = self._up + away - _SLACK, self._down - away - _SLACK
        self._up = up if up > 0 else 0.0
        self._down = down if down > 0 else 0.0

    def _candidate(self) -> Candidate | None:
        """The change where the newest runs differ most from those before them, tested."""
        levels = np.array(self._levels[-LOOKED_AT:])
        variances = np.array(self._variances[-LOOKED_AT:])
        count = levels.size
        centre = _median(levels)
        spread = self._together(_spread(levels, centre), count)
        if spread == 0:
            return None
        weights = _weights(variances, spread)
        away = _cut(levels, centre, spread, weights)
        least = min(self._least_before, count - 1)
        sums, weighed = (weights * away).cumsum(), weights.cumsum()
        ends = np.arange(least, count)
        left, right = weighed[ends - 1], weighed[-1] - weighed[ends - 1]
        apart = (sums[-1] - sums[ends - 1]) / right - sums[ends - 1] / left
        gain = apart**2 * left * right / weighed[-1]
        best = int(np.argmax(gain))
        split = int(ends[best])
        p, size, variance = self._judged(levels, variances, split)
        chances = np.exp((gain - gain[best]) / 2 * spread**2 / variance)
        # The place within one run of which the change most probably is: the likeliest, unless its neighbours are much likelier on one side.
        near = chances.copy()
        near[1:] += chances[:-1]
        near[:-1] += chances[1:]
        placed = float(near[best] / _total(chances))
        best = int(ends[int(np.argmax(near + _OF_ITSELF * chances))])
        first = self.places[len(self.places) - count + best]
        return Candidate(first, min(1.0, PLACES * p), size, count - max(best, split), placed)

    def _together(self, own: float, count: int) -> float:
        """The spread of few runs, weighed against what was known before."""
        if count > _FEW or self._before is None:
            return own
        known, degrees = self._before
        return math.sqrt(((count - 1) * own**2 + degrees * known) / (count - 1 + degrees)) if degrees else own

    def _judged(self, levels: np.ndarray, variances: np.ndarray, split: int) -> tuple[float, float, float]:
        """The p-value of no change at a place, by how much the level changed, and the variance of one run."""
        before, after = levels[:split], levels[split:]
        centre = _median(before)
        own = _spread(before, centre) ** 2
        known, degrees = self._before or (0.0, 0.0)
        freedom = before.size - 1 + degrees
        variance = ((before.size - 1) * own + degrees * known) / freedom if freedom else 0.0
        if before.size >= HELD_BACK:
            variance = max(variance, own)
        if variance <= 0:  # all were equal, so that any other is off
            variance = (_EQUAL * (abs(centre) + abs(_median(after)))) ** 2 or 1.0
        spread = math.sqrt(variance)
        weights = _weights(variances, spread)
        ours, theirs = weights[:split], weights[split:]
        away = _cut(before, centre, spread, ours)
        mean = float(_total(ours * away) / _total(ours))
        # One run, or two, may be spikes: they are cut about the old level, more about their own.
        about = _median(after) if after.size > 2 else centre
        beyond = _cut(after, about, spread, theirs) + (about - centre) / spread
        new = float(_total(theirs * beyond) / _total(theirs))
        if after.size == 1:  # whether it is one is all that is asked
            new = float((after[0] - centre) / spread)
        wider = 1.0
        if after.size > 2:
            squares = float(_total(theirs * ((after - centre) / spread - new) ** 2))
            wider = max(1.0, (squares + _RIGHT) / (after.size - 1 + _RIGHT))
        alike = self._resemblance(away - mean)
        error = math.sqrt(
            _longer(before.size, alike) / _total(ours) + wider * _longer(after.size, alike) / _total(theirs)
        )
        p = 2 * float(t_sf(abs(new - mean) / error, max(freedom, 1.0)))
        return p, (new - mean) * spread, variance

    def _resemblance(self, away: np.ndarray) -> float:
        """The autocorrelation of neighbouring runs, of this level and earlier ones together, drawn towards none where runs are few."""
        squares = float(_total(away * away))
        found = 0.0
        if away.size > 3 and squares > 0:
            found = float(_total(away[1:] * away[:-1])) / squares
            found += (1 + 3 * found) / away.size
        known, runs = self._alike
        together = min(runs, 50.0) + away.size
        mean = (found * away.size + known * min(runs, 50.0)) / together
        self._found_alike = mean, together
        return max(0.0, min(0.9, mean * together / (together + 2)))


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
    each = [Series(chosen, one) for one in spreads or [None] * count]
    found: list[list[Change]] = [[] for _ in range(count)]
    last: dict[int, tuple[Candidate, float]] = {}
    order = range(len(levels)) if known is None else known
    for place in order:
        of_run, of_variances = levels[place].tolist(), variances[place].tolist()
        shown: dict[int, Candidate] = {}
        for number, level in enumerate(of_run):
            if not math.isnan(level):
                last.pop(number, None)
                if one := each[number].add(place, level, of_variances[number], newest=place == order[-1]):
                    shown[number] = one
        if not shown or min(one.p for one in shown.values()) >= chosen.likely:
            continue
        p_values = [shown[number].p if number in shown else 1.0 for number in range(count)]
        adjusted = holm(p_values, weights) if count > 1 else p_values
        for number, one in shown.items():
            if one.is_sure(adjusted[number], chosen):
                _settle(found[number], number, one, adjusted[number], place, levels[:, number])
                each[number].settle(one)
            elif adjusted[number] < chosen.likely:
                last[number] = one, adjusted[number]
    unsettled = [
        Change(
            series=number,
            kind="step",
            state="new" if one.after == 1 else "likely",
            first=one.first,
            last=one.first,
            known=each[number].places[-1],
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
    start = max(0, first - LOOKED_AT // 2)
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


_OF_ITSELF = 0.1
"""The weight of a place's own probability beside that of being within one run: of a step that is clear, three places are within one run of it."""

_total = np.add.reduce
"""Sums an array as its method ``sum`` does, without the way there: arrays here are short."""


def _median(values: np.ndarray) -> float:
    """The median, of an even number the upper one of two: a fifth of the time that NumPy's takes."""
    middle, found = values.size // 2, values.copy()
    found.partition(middle)
    return float(found[middle])


def _spread(levels: np.ndarray, centre: float) -> float:
    """The standard deviation of one run, of runs that are cut at :data:`CUT` of it (Huber's proposal 2); 0 where most are equal and the others too."""
    away = np.abs(levels - centre)
    spread = MAD_SCALE * _median(away) or 1.2533 * float(away.mean())
    if spread == 0:
        return 0.0
    for _ in range(8):
        cut = np.minimum(away, CUT * spread)
        following = math.sqrt(float(_total(cut * cut)) / max(levels.size - 1, 1) / _CUT_VARIANCE)
        if abs(following - spread) < 1e-2 * spread:
            return following
        spread = following
    return spread


def _weights(variances: np.ndarray, spread: float) -> np.ndarray:
    """The weight of each run, 1 for one that varies within as most do: what runs differ by, and what varies within each, add up."""
    usual = _median(variances)
    each = np.maximum(max(spread * spread - usual, 0.0) + variances, 0.25 * spread * spread)
    return spread * spread / each


def _cut(levels: np.ndarray, centre: float, spread: float, weights: np.ndarray) -> np.ndarray:
    """Distances in standard deviations, cut at :data:`CUT` of each run's own."""
    roots = np.sqrt(weights)
    return np.minimum(np.maximum((levels - centre) / spread * roots, -CUT), CUT) / roots


def _longer(runs: int, alike: float) -> float:
    """The factor by which neighbours that are alike make the variance of a mean of runs larger."""
    return (1 + alike) / (1 - alike) - 2 * alike / runs * (1 - alike**runs) / (1 - alike) ** 2
