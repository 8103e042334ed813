"""Arithmetic means of runs, and how far apart two of them are.

Samples that were taken one after the other in one run aren't independent: what they have in common shows over some time.
They are put together in stretches of consecutive units (blocks, slots, hosts) until stretches are as good as independent,
and stretches are what is resampled: the block bootstrap, with blocks that don't overlap.
"""

from collections.abc import Sequence

import msgspec
import numpy as np
from scipy import stats

from slotmark.statistics.interval import Interval

MOST_STRETCHES = 50
"""Into so many stretches a run is cut at most. A stretch of n consecutive units is at least the cube root of n long."""

FEWEST_STRETCHES = 8
"""Below so many stretches a resample is too often the same few: Student's t takes the bootstrap's place."""


class Stretches(msgspec.Struct, frozen=True):
    """The samples of a metric in one run and setting, put together.

    Attributes:
        sums: Of the values, one a stretch.
        counts: Of the values, one a stretch.
        units: How many units (blocks, slots, hosts) there were.
    """

    sums: np.ndarray
    counts: np.ndarray
    units: int

    @property
    def mean(self) -> float:
        """The mean of all samples."""
        return float(self.sums.sum() / self.counts.sum())

    @property
    def error(self) -> float:
        """The standard error of the mean; infinite for one stretch."""
        return float(_errors(self.sums[np.newaxis], self.counts[np.newaxis])[0]) if self.sums.size > 1 else float("inf")


class MeanDifference(msgspec.Struct, frozen=True):
    """A candidate's mean less the baseline's.

    Attributes:
        delta: In the metric's unit.
        p: Two-sided p-value of no difference.
    """

    delta: Interval
    p: float


def stretches(values: np.ndarray, starts: np.ndarray, *, ordered: bool = True) -> Stretches:
    """The values put together in stretches of consecutive units.

    Args:
        values: Shape (n,), unit by unit.
        starts: The place at which each unit begins; rising from 0, shape (units,).
        ordered: Whether units lie one after the other, as blocks do and hosts don't.
    """
    least = round(starts.size ** (1 / 3)) if ordered else 1
    count = min(MOST_STRETCHES, max(1, starts.size // least))
    edges = starts[np.linspace(0, starts.size, count, endpoint=False).astype(np.int64)]
    return Stretches(
        np.add.reduceat(values, edges), np.diff(np.append(edges, values.size)).astype(np.float64), starts.size
    )


def mean_difference(
    baseline: Sequence[Stretches],
    candidate: Sequence[Stretches],
    *,
    confidence: float,
    repetitions: int,
    seed: Sequence[int],
) -> MeanDifference | None:
    """How far the candidate's mean lies from the baseline's, each over one or more runs; None where nothing tells how they vary.

    With two or more runs on both sides, runs are what was repeated: Welch's t over their means. Else the stretches of each
    side are resampled, and the interval covers only what varies within runs.

    Args:
        baseline: One a run.
        candidate: One a run.
        confidence: Of the interval, as a fraction.
        repetitions: Of the bootstrap.
        seed: Of the bootstrap.
    """
    if min(len(baseline), len(candidate)) > 1:
        return _welch([np.array([run.mean for run in runs]) for runs in (baseline, candidate)], confidence)
    sides = [_joined(baseline), _joined(candidate)]
    fewest = min(side.sums.size for side in sides)
    if fewest < 2:
        return None
    delta = sides[1].mean - sides[0].mean
    error = float(np.hypot(sides[0].error, sides[1].error))
    if error == 0:
        return MeanDifference(Interval(delta, delta, delta), 1 / (repetitions + 1) if delta else 1.0)
    if fewest < FEWEST_STRETCHES:
        return _student(delta, error, min(side.sums.size - 1 for side in sides), confidence)
    draws = np.random.default_rng(list(seed))
    means, errors = zip(*(_resampled(side, repetitions, draws) for side in sides), strict=True)
    with np.errstate(divide="ignore", invalid="ignore"):
        distances = np.abs(means[1] - means[0] - delta) / np.hypot(*errors)
    distances = np.where(np.isnan(distances), 0.0, distances)
    reach = float(np.quantile(distances, confidence, method="higher")) * error
    if not np.isfinite(reach):
        return _student(delta, error, fewest - 1, confidence)
    beyond = int((distances >= abs(delta) / error).sum())
    return MeanDifference(Interval(delta, delta - reach, delta + reach), (beyond + 1) / (repetitions + 1))


def _joined(runs: Sequence[Stretches]) -> Stretches:
    return Stretches(
        np.concatenate([run.sums for run in runs]),
        np.concatenate([run.counts for run in runs]),
        sum(run.units for run in runs),
    )


def _resampled(side: Stretches, repetitions: int, draws: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Means of resamples and their standard errors, shape (repetitions,) each."""
    which = draws.integers(0, side.sums.size, (repetitions, side.sums.size))
    sums, counts = side.sums[which], side.counts[which]
    return sums.sum(axis=1) / counts.sum(axis=1), _errors(sums, counts)


def _errors(sums: np.ndarray, counts: np.ndarray) -> np.ndarray:
    """Standard errors of ratios of sums (by their linear approximation), a row a resample."""
    n, total = sums.shape[1], counts.sum(axis=1)
    residuals = sums - (sums.sum(axis=1) / total)[:, np.newaxis] * counts
    return np.sqrt(n / (n - 1) * (residuals**2).sum(axis=1)) / total


def _welch(means: Sequence[np.ndarray], confidence: float) -> MeanDifference:
    parts = [side.var(ddof=1) / side.size for side in means]
    delta, error = float(means[1].mean() - means[0].mean()), float(np.sqrt(sum(parts)))
    if error == 0:
        return MeanDifference(Interval(delta, delta, delta), 0.0 if delta else 1.0)
    freedom = sum(parts) ** 2 / sum(part**2 / (side.size - 1) for part, side in zip(parts, means, strict=True))
    return _student(delta, error, float(freedom), confidence)


def _student(delta: float, error: float, freedom: float, confidence: float) -> MeanDifference:
    reach = float(stats.t.ppf((1 + confidence) / 2, freedom)) * error
    return MeanDifference(
        Interval(delta, delta - reach, delta + reach), float(2 * stats.t.sf(abs(delta) / error, freedom))
    )
