"""Arithmetic means of runs, and how far apart two of them are.

Samples that were taken one after the other in one run aren't independent: what they have in common shows over some time.
:mod:`slotmark.statistics.dependence` computes how much that makes a mean vary.
"""

import math
from collections.abc import Sequence
from operator import itemgetter
from typing import Literal

import msgspec
import numpy as np

from slotmark.statistics.anytime import anytime
from slotmark.statistics.between_runs import RunMean, Scale, Spread
from slotmark.statistics.dependence import LongRun, independent, long_run
from slotmark.statistics.drift import drift
from slotmark.statistics.interval import Interval
from slotmark.statistics.student import beyond_rounding, satterthwaite, student
from slotmark.statistics.welch import Between, between

LEAST_SHARED = 0.9
"""The share of two runs' consecutive units that must be the same work where both were given the same."""

LOPSIDED = 0.4
"""The skewness of the error above which Student's interval misses the truth on one side too often."""

Work = tuple[int | str, ...]
"""The identity of a unit's work, by which it is found in another run. The first value rises with the unit: a block's slot, a host's name."""


class Units(msgspec.Struct, frozen=True):
    """The samples of a metric in one run and part, put together by unit: block, slot or host.

    Attributes:
        sums: Sums of the values, one a unit; shape (units,).
        counts: Counts of the values, one a unit.
        ordered: Whether units follow one another, as blocks do and hosts don't.
        works: The work of each unit; empty where it is unknown.
    """

    sums: np.ndarray
    counts: np.ndarray
    ordered: bool = True
    works: Sequence[Work] = ()

    @property
    def mean(self) -> float:
        """The mean of all samples."""
        return float(self.sums.sum() / self.counts.sum())

    def chance(self) -> LongRun:
        """Returns the variation of the mean; for a ratio of sums, by its linear form. At least two units."""
        return long_run(self.residuals) if self.ordered else independent(self.residuals)

    @property
    def residuals(self) -> np.ndarray:
        """Returns the contribution of each unit to the mean's error, to first order: their sum varies as the mean does."""
        return (self.sums - self.mean * self.counts) / float(self.counts.sum())

    def on(self, scale: Scale) -> RunMean:
        """The run's mean on a scale, with what varies within the run.

        Units that are the same in all runs, as hosts of the same cluster (those that don't follow one another and have works), differ in their level in
        every run alike: that is no error of the mean.
        """
        fixed = not self.ordered and bool(self.works)
        chance = None if fixed or self.sums.size < 2 else self.chance()
        share = self.mean if scale == "log" else 1.0
        level = float(np.log(self.mean)) if scale == "log" else self.mean
        return RunMean(level) if chance is None else RunMean(level, chance.variance / share**2, chance.degrees)


class MeanDifference(msgspec.Struct, frozen=True):
    """A candidate's mean less the baseline's.

    Attributes:
        delta: In the metric's unit.
        bounds: The same with the interval that decides.
        p: Two-sided p-value of no difference.
        over: What the interval is over: runs, pairs of them, the units inside runs, or these matched by their work.
        effective: One per side: the number of independent runs or units that would be as informative.
        lopsided: The skewness of the difference's error where both sides vary alike: that of the units, as far as sides of unlike numbers
            don't cancel it.
        drifts: Whether the level of units that follow one another may drift, so that nothing shows how much their mean varies.
        widest: The difference with the interval that covers it also where the level of units that follow one another drifts as far as their noise may hide; None
            of several runs, and of units that don't follow one another.
        degrees: Degrees of freedom of what is known about how much runs differ; 0 where the interval isn't over runs.
        scale: Scale of the means of runs that are compared.
        base: The baseline's mean, in the metric's unit, where means of runs are compared.
    """

    delta: Interval
    bounds: Interval
    p: float
    over: Literal["runs", "pairs", "units", "matched units"]
    effective: tuple[float, float]
    lopsided: float = 0.0
    drifts: bool = False
    widest: Interval | None = None
    degrees: float = 0.0
    scale: Scale = "identity"
    base: float | None = None

    def mean_of(self, side: Sequence[Units]) -> float:
        """The mean of a side that the difference is from: of its runs' means, on their scale, or of all samples."""
        if self.over in ("runs", "pairs"):
            return from_scale(float(np.mean([run.on(self.scale).level for run in side])), self.scale)
        return float(sum(run.sums.sum() for run in side) / sum(run.counts.sum() for run in side))


def by_unit(values: np.ndarray, units: np.ndarray, *, ordered: bool = True) -> Units:
    """Values put together by unit.

    Args:
        values: Shape (n,).
        units: The place of each value's unit, from 0 on; shape (n,).
        ordered: Whether units follow one another in the order of their places, as blocks do and hosts don't.
    """
    counts = np.bincount(units).astype(np.float64)
    there = counts > 0
    return Units(np.bincount(units, weights=values)[there], counts[there], ordered=ordered)


def mean_difference(
    baseline: Sequence[Units],
    candidate: Sequence[Units],
    *,
    confidence: float,
    spread: Spread | None = None,
    scale: Scale = "identity",
) -> MeanDifference | None:
    """Returns the distance of the candidate's mean from the baseline's, each over one or more runs; None where their variation is unknown.

    Where it is known how much runs differ, from a spread or from two or more runs on both sides, the interval is over the means of runs.
    Else it covers only what varies within runs; of one run per side whose units were the same work, only what varies from one run to the
    other: what both have in common goes out.

    Args:
        baseline: One a run.
        candidate: One a run.
        confidence: Confidence of the interval, as a fraction.
        spread: How much the means of runs of one build differ, on the scale; None for what two sides of several runs show by themselves.
        scale: Scale of the means of runs; all are above 0 where it is the logarithm.
    """
    sides = baseline, candidate
    if spread is not None or min(map(len, sides)) > 1:
        ours, theirs = ([run.on(scale) for run in side] for side in sides)
        return difference_of_runs(ours, theirs, spread, confidence=confidence, scale=scale)
    if min(run.sums.size for side in sides for run in side) < 2:
        return None
    if (apart := _matched(baseline, candidate)) is not None:
        ordered = baseline[0].ordered
        matched = long_run(apart) if ordered else independent(apart)
        shown = drift(apart) if ordered else None
        estimate = candidate[0].mean - baseline[0].mean
        found = student(estimate, float(np.sqrt(matched.variance)), matched.degrees, confidence)
        return MeanDifference(
            found.interval,
            found.bounds,
            found.p,
            "matched units",
            (matched.effective, matched.effective),
            drifts=shown is not None and shown.likely,
            widest=shown and _widest(found.interval, shown.most_variance, confidence),
        )
    (ours, before), (theirs, after) = (_joined(side) for side in sides)
    variance = before.variance + after.variance
    degrees = satterthwaite(variance, [(one.variance, one.degrees) for one in (before, after)])
    found = student(theirs - ours, float(np.sqrt(variance)), degrees, confidence)
    effective = before.effective, after.effective
    runs = [run for side in sides for run in side]
    drifts = [drift(run.residuals) for run in runs if run.ordered]
    alone = len(runs) == len(drifts) == 2
    return MeanDifference(
        found.interval,
        found.bounds,
        found.p,
        "units",
        effective,
        _lopsided(sides),
        any(one.likely for one in drifts),
        _widest(found.interval, sum(one.most_variance for one in drifts), confidence) if alone else None,
    )


def over_levels(
    ours: np.ndarray, theirs: np.ndarray, *, confidence: float, scale: Scale, at_any_look: bool = False
) -> MeanDifference:
    """Returns the mean over pairs of runs of the candidate's mean less the baseline's, by Student's t: what a pair has in common goes out.

    Args:
        ours: Means of the baseline's runs, on the scale; shape (pairs,), two or more.
        theirs: Those of the candidate, of the same pairs in the same order.
        confidence: Confidence of the interval, as a fraction.
        scale: Scale of the means that are subtracted.
        at_any_look: Whether pairs come one by one and the result is looked at meanwhile: interval and p-value then hold at all looks together.
    """
    apart = theirs - ours
    estimate, error = float(apart.mean()), float(apart.std(ddof=1) / np.sqrt(apart.size))
    estimate, error = beyond_rounding(estimate, error, np.concatenate([ours, theirs]))
    found = (
        anytime(estimate, error, apart.size, confidence)
        if at_any_look
        else student(estimate, error, apart.size - 1, confidence)
    )
    base = from_scale(float(ours.mean()), scale)
    delta, bounds = (_in_the_unit(one, base, scale) for one in (found.interval, found.bounds))
    pairs = float(apart.size)
    return MeanDifference(delta, bounds, found.p, "pairs", (pairs, pairs), scale=scale, base=base)


def difference_of_runs(
    baseline: Sequence[RunMean], candidate: Sequence[RunMean], spread: Spread | None, *, confidence: float, scale: Scale
) -> MeanDifference:
    """Returns the distance of the candidate's mean from the baseline's, by the means of runs.

    Args:
        baseline: One a run, on the scale.
        candidate: One a run.
        spread: How much the means of runs of one build differ; None for what the two sides, of two runs or more each, show by themselves.
        confidence: Confidence of the interval, as a fraction.
        scale: Scale of the means.
    """
    ours, theirs = (np.array([run.level for run in side]) for side in (baseline, candidate))
    own = float(ours.size + theirs.size - 2)
    if spread is None:
        chance, degrees = between([ours, theirs]), own
    else:
        chance, degrees = chance_of_runs([baseline, candidate], spread), spread.degrees
        if ours.size != theirs.size and min(ours.size, theirs.size) > 1:
            # The smaller side's own spread counts where it is larger than what all have in common.
            apart = between([ours, theirs])
            if apart.variance > chance.variance:
                chance, degrees = apart, apart.degrees
    estimate, error = float(theirs.mean() - ours.mean()), float(np.sqrt(chance.variance))
    estimate, error = beyond_rounding(estimate, error, np.concatenate([ours, theirs]))
    found = student(estimate, error, chance.degrees, confidence)
    p = found.p
    if error == 0 and estimate != 0 and np.isfinite(degrees):
        # Runs of a side are equal by chance too: of runs of one build, the smaller side's may be the only ones that differ.
        p = 1 / math.comb(round(ours.size + theirs.size + max(degrees - own, 0.0)), min(ours.size, theirs.size))
    base = from_scale(float(ours.mean()), scale)
    delta, bounds = (_in_the_unit(one, base, scale) for one in (found.interval, found.bounds))
    effective = float(ours.size), float(theirs.size)
    return MeanDifference(delta, bounds, p, "runs", effective, degrees=degrees, scale=scale, base=base)


def chance_of_runs(sides: Sequence[Sequence[RunMean]], spread: Spread) -> Between:
    """The variance of the difference of the sides' means: from run to run by the spread, and what the runs vary more within than those that it is from.

    Args:
        sides: Each side's runs.
        spread: How much runs of one build differ. A run differs by no less than what varies within it.
    """
    least = max(spread.variance, spread.within)
    shared = sum(least / len(runs) for runs in sides)
    parts = [(shared, spread.degrees)]
    for runs in sides:
        within = [run.within / len(runs) ** 2 for run in runs]
        more = sum(within) - spread.within / len(runs)
        if more > 0:
            freedom = satterthwaite(sum(within), [(one, run.degrees) for one, run in zip(within, runs, strict=True)])
            parts.append((more, freedom))
    variance = sum(part for part, _ in parts)
    if variance == 0:
        return Between(0.0, np.inf)
    return Between(variance, satterthwaite(variance, parts))


def from_scale(level: float, scale: Scale) -> float:
    """A level on a scale, in the metric's unit: of logarithms of runs' means the geometric mean."""
    return float(np.exp(level)) if scale == "log" else level


def _in_the_unit(found: Interval, base: float, scale: Scale) -> Interval:
    """A difference on a scale as one from a base in its unit; an end beyond all numbers is infinite."""
    if scale == "identity":
        return found
    with np.errstate(over="ignore"):
        return Interval(*(base * float(np.expm1(end)) for end in (found.estimate, found.low, found.high)))


def _matched(baseline: Sequence[Units], candidate: Sequence[Units]) -> np.ndarray | None:
    """Returns the contribution of each unit to the error of the difference of two runs' means; None where they weren't given the same work.

    A unit that only one of them has counts as it is. Of units that don't follow one another, as hosts, both must have the same.
    """
    if len(baseline) > 1 or len(candidate) > 1:
        return None
    sides = baseline[0], candidate[0]
    works = [set(side.works) for side in sides]
    whole = all(len(known) == side.sums.size for known, side in zip(works, sides, strict=True))
    least = LEAST_SHARED if sides[0].ordered else 1.0
    if not whole or len(works[0] & works[1]) < least * max(map(len, works)):
        return None
    union = dict.fromkeys([*sides[0].works, *sides[1].works])
    places = {work: place for place, work in enumerate(sorted(union, key=itemgetter(0)))}
    apart = np.zeros(len(places))
    for side, sign in zip(sides, (-1.0, 1.0), strict=True):
        apart[[places[work] for work in side.works]] += sign * side.residuals
    return apart


def _widest(found: Interval, most: float, confidence: float) -> Interval:
    """The interval of a difference whose variance may be as large as this; at least as wide as it is."""
    wide = student(found.estimate, float(np.sqrt(most)), np.inf, confidence).interval
    return Interval(found.estimate, min(found.low, wide.low), max(found.high, wide.high))


def _lopsided(sides: Sequence[Sequence[Units]]) -> float:
    """The skewness of the difference's error, from that of the units of the side that is more skewed: a few units may not show theirs."""
    skews = [_skewness(np.concatenate([run.sums / run.counts - run.mean for run in side])) for side in sides]
    ours, theirs = (1 / sum(run.sums.size for run in side) for side in sides)
    return max(skews) * abs(ours**2 - theirs**2) / (ours + theirs) ** 1.5


def _skewness(away: np.ndarray) -> float:
    """The skewness of values about their mean, without its sign."""
    spread = float((away**2).mean())
    return abs(float((away**3).mean())) / spread**1.5 if spread > 0 else 0.0


def _joined(runs: Sequence[Units]) -> tuple[float, LongRun]:
    """The mean of all samples of some runs, and how much it varies within them."""
    total = sum(float(run.counts.sum()) for run in runs)
    shares = [float(run.counts.sum()) / total for run in runs]
    each = [run.chance() for run in runs]
    parts = [(share**2 * one.variance, one.degrees) for share, one in zip(shares, each, strict=True)]
    variance = sum(part for part, _ in parts)
    mean = sum(share * run.mean for share, run in zip(shares, runs, strict=True))
    return mean, LongRun(variance, satterthwaite(variance, parts), sum(one.effective for one in each))
