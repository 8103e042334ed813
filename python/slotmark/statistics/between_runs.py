"""Differences between the means of runs of one build: from runs, from a prior, from many metrics together."""

from collections.abc import Sequence
from typing import Literal

import msgspec
import numpy as np

from slotmark.statistics.moderated import moderated

Scale = Literal["log", "identity"]
"""The scale of differences between runs of one build: a share of their level (log), or an amount independent of it (identity)."""

FEWEST_TOGETHER = 3
"""The fewest metrics that show what their variances have in common."""

MOST_TIMES = 2.0
"""A moderated variance has at most this many times the degrees of freedom of its own: a handful of metrics show no better how alike they are."""


class RunMean(msgspec.Struct, frozen=True):
    """The mean of one run on its metric's scale.

    Attributes:
        level: The mean, or its logarithm.
        within: Its variance by what varies within the run; 0 where that isn't known.
        degrees: Degrees of freedom of that variance.
    """

    level: float
    within: float = 0.0
    degrees: float = float("inf")


class Spread(msgspec.Struct, frozen=True):
    """The variation between runs of one build.

    Attributes:
        variance: Variance of the mean of one run about that of its build, on the metric's scale: all that varies, from run to run and within.
        degrees: Degrees of freedom of what it is known from.
        within: The part that varies within runs such as it is known from, on average; 0 where that isn't known.
    """

    variance: float
    degrees: float
    within: float = 0.0


def repeated(sides: Sequence[Sequence[RunMean]]) -> list[Sequence[RunMean]]:
    """The sides that have two runs or more: only they show how much runs differ."""
    return [side for side in sides if len(side) > 1]


def residuals(sides: Sequence[Sequence[RunMean]]) -> np.ndarray:
    """Returns the distance of each run from the mean of its side, for sides of several runs; shape (runs,)."""
    levels = [np.array([run.level for run in side]) for side in repeated(sides)]
    return np.concatenate([of_side - of_side.mean() for of_side in levels]) if levels else np.zeros(0)


def pooled(sides: Sequence[Sequence[RunMean]]) -> Spread | None:
    """The spread of runs about the mean of their own side, over all sides: builds may differ, and are taken to vary alike.

    Args:
        sides: Each side's runs; a side of one run adds nothing.

    Returns:
        None where no side has two runs.
    """
    several = repeated(sides)
    if not several:
        return None
    degrees = float(sum(len(side) - 1 for side in several))
    within = float(np.mean([run.within for side in several for run in side]))
    return Spread(float((residuals(sides) ** 2).sum()) / degrees, degrees, within)


def pooled_levels(levels: np.ndarray, within: np.ndarray, sides: np.ndarray) -> Spread | None:
    """Returns what :func:`pooled` does, for many runs.

    Args:
        levels: One per run, on the metric's scale.
        within: The variance of each by what varies within the run.
        sides: The number of each run's side, from 0.
    """
    counts = np.bincount(sides)
    several = (counts > 1)[sides]
    degrees = float((counts[counts > 1] - 1).sum())
    if not degrees:
        return None
    means = np.bincount(sides, weights=levels) / np.maximum(counts, 1)
    away = (levels - means[sides])[several]
    return Spread(float((away * away).sum()) / degrees, degrees, float(within[several].mean()))


def of_pairs(levels: np.ndarray) -> Spread:
    """The spread of the difference of two builds in one round, from several rounds in which each build ran once: what a round does to all goes out.

    Args:
        levels: Of each build in each round, on the metric's scale; shape (builds, rounds), two or more of both.
    """
    away = levels - levels.mean(axis=0) - levels.mean(axis=1, keepdims=True) + levels.mean()
    degrees = float((levels.shape[0] - 1) * (levels.shape[1] - 1))
    return Spread(2 * float((away**2).sum()) / degrees, degrees)


def moderated_together(spreads: Sequence[Spread], away: np.ndarray) -> list[Spread]:
    """Spreads of several metrics of the same runs, each drawn towards what all have in common (:mod:`slotmark.statistics.moderated`).

    Metrics of one run aren't independent, as genes nearly are: adoption by 96 and by 98 % of hosts move together, and ten such metrics show hardly more of a
    variance than one. How alike they are is the mean squared correlation of their residuals, less what chance gives to few runs. It counts twice:
    variances that move together differ less from each other by chance, and the prior that they show has no more degrees of freedom than so
    many independent metrics have.

    Args:
        spreads: One per metric, with the same degrees of freedom, each variance above 0.
        away: The residuals, shape (runs, metrics).
    """
    count, degrees = len(spreads), spreads[0].degrees
    if count < FEWEST_TOGETHER or degrees < 2:
        return list(spreads)
    lengths = np.sqrt((away**2).sum(axis=0))
    correlations = (away / lengths).T @ (away / lengths)
    squared = (float((correlations**2).sum()) - count) / (count * (count - 1))
    alike = max(0.0, (squared - 1 / degrees) / (1 - 1 / degrees))
    found = moderated(np.array([one.variance for one in spreads]), degrees, alike=alike)
    independent = count / (1 + (count - 1) * alike)
    most = max(degrees, min(found.degrees, independent * degrees, MOST_TIMES * degrees))
    return [Spread(float(variance), most, one.within) for variance, one in zip(found.variances, spreads, strict=True)]


def combined(own: Spread | None, prior: Spread | None) -> Spread | None:
    """Returns the variation from runs and from earlier knowledge, each weighted by its degrees of freedom; None where there is neither."""
    if own is None or prior is None:
        return own or prior
    degrees = own.degrees + prior.degrees
    if not np.isfinite(degrees):
        return prior
    variance = (own.degrees * own.variance + prior.degrees * prior.variance) / degrees
    return Spread(variance, degrees, own.within)
