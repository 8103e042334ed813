"""The shift function: quantile by quantile, how many times the baseline's the candidate's is (Doksum 1974; Wilcox 1995).

It shows where in the distribution of blocks two sides differ. A quantile is not a block: near the edge of a cluster the same
quantile can be another kind of block on either side. The conditional view, block by block, is in :mod:`block_ratio`.
"""

from collections.abc import Sequence
from functools import lru_cache

import msgspec
import numpy as np
import scipy

from slotmark.statistics.distributions import t_ppf
from slotmark.statistics.interval import Interval

DECILES = tuple(tenth / 10 for tenth in range(1, 10))

LINEAR_FROM = 5_000
"""With more blocks their influences give the same spread as drawing them, in a hundredth of the time."""

MOST_GROUPS = 1_000
"""Above :data:`LINEAR_FROM`, neighbours in the chain are put together, in this many groups of equal size."""

_DRAWS_AT_ONCE = 1 << 20


class Shift(msgspec.Struct, frozen=True):
    """One quantile.

    Attributes:
        quantile: As a fraction.
        baseline: Its Harrell-Davis estimate on the baseline's side.
        candidate: On the candidate's.
        ratio: Candidate over baseline, with its interval.
        beyond: How many blocks lie at or beyond it, on the side with fewer.
    """

    quantile: float
    baseline: float
    candidate: float
    ratio: Interval
    beyond: int


def harrell_davis(values: np.ndarray, quantiles: Sequence[float]) -> np.ndarray:
    """Harrell-Davis quantiles (Biometrika 1982): means of all ordered values, weighted by a beta distribution.

    Args:
        values: At least one, finite.
        quantiles: Each above 0 and below 1.

    Returns:
        Shape (quantiles,), in the values' unit.
    """
    ordered = np.sort(values)
    return np.array([np.diff(_upto(ordered.size, quantile)) @ ordered for quantile in quantiles])


def shift_function(
    baseline: np.ndarray,
    candidate: np.ndarray,
    *,
    quantiles: Sequence[float] = DECILES,
    confidence: float,
    repetitions: int,
    seed: Sequence[int],
) -> list[Shift]:
    """The shift function of the blocks' costs.

    Blocks are drawn together for both sides, since they are the same; processes add their part by leaving out one at a time.

    Args:
        baseline: Shape (processes, blocks), all above 0.
        candidate: The same blocks.
        quantiles: Each above 0 and below 1.
        confidence: Confidence of each interval by itself, as a fraction.
        repetitions: Repetitions of the bootstrap over blocks, of up to 5,000 of them.
        seed: Seed of the bootstrap.
    """
    sides = [np.exp(np.log(cost).mean(axis=0)) for cost in (baseline, candidate)]
    found = [harrell_davis(side, quantiles) for side in sides]
    variances, degrees = _of_runs((baseline, candidate), quantiles)
    n = sides[0].size
    blocks = (
        _linear_variance(sides, quantiles)
        if n > LINEAR_FROM
        else _resampled(sides, quantiles, repetitions, np.random.default_rng(list(seed))).var(axis=0, ddof=1)
    )
    shifts = []
    for place, quantile in enumerate(quantiles):
        variance = variances[place] + blocks[place]
        squares = variances[place] ** 2 / max(degrees, 1) + blocks[place] ** 2 / max(n - 1, 1)
        reach = t_ppf((1 + confidence) / 2, variance**2 / squares) * np.sqrt(variance) if variance > 0 else 0.0
        log = np.log(found[1][place] / found[0][place])
        shifts.append(
            Shift(
                quantile,
                float(found[0][place]),
                float(found[1][place]),
                Interval(*(float(np.exp(one)) for one in (log, log - reach, log + reach))),
                round(n * min(quantile, 1 - quantile)),
            )
        )
    return shifts


@lru_cache(maxsize=32)
def _upto(n: int, quantile: float) -> np.ndarray:
    """The weight that the smallest 0 to n of n values have together; shape (n + 1,)."""
    found = scipy.special.betainc((n + 1) * quantile, (n + 1) * (1 - quantile), np.arange(n + 1) / n)
    found.flags.writeable = False
    return found


def _of_runs(sides: Sequence[np.ndarray], quantiles: Sequence[float]) -> tuple[np.ndarray, int]:
    """The variance of each quantile's log ratio between processes, by the jackknife, and its degrees of freedom."""
    variance, degrees = np.zeros(len(quantiles)), 0
    if min(len(cost) for cost in sides) < 2:
        return variance, degrees
    for cost in sides:
        logs, runs = np.log(cost), len(cost)
        left_out = [
            np.log(harrell_davis(np.exp((logs.sum(axis=0) - logs[run]) / (runs - 1)), quantiles)) for run in range(runs)
        ]
        variance += np.var(left_out, axis=0) * (runs - 1)
        degrees += runs - 1
    return variance, degrees


def _linear_variance(sides: Sequence[np.ndarray], quantiles: Sequence[float]) -> np.ndarray:
    """The variance of each quantile's log ratio over blocks, by the influence of each block; shape (quantiles,)."""
    n = sides[0].size
    steps = np.arange(1, n) / n
    effects = np.zeros((len(quantiles), n))
    for sign, side in zip((-1.0, 1.0), sides, strict=True):
        order = np.argsort(side, kind="stable")
        ordered = side[order]
        for place, quantile in enumerate(quantiles):
            weighted = scipy.stats.beta.pdf(steps, (n + 1) * quantile, (n + 1) * (1 - quantile)) * np.diff(ordered)
            above = np.concatenate([np.cumsum(weighted[::-1])[::-1], [0.0]])
            estimate = float(np.diff(_upto(n, quantile)) @ ordered)
            effects[place, order] += sign * (weighted @ steps - above) / estimate
    edges = np.arange(min(n, MOST_GROUPS)) * n // min(n, MOST_GROUPS)
    groups = [np.add.reduceat(one, edges) / n for one in effects]
    return np.array([one.var(ddof=1) * one.size for one in groups])


def _resampled(
    sides: Sequence[np.ndarray], quantiles: Sequence[float], repetitions: int, draws: np.random.Generator
) -> np.ndarray:
    """Log ratios of the quantiles of resampled blocks; shape (repetitions, quantiles)."""
    n = sides[0].size
    orders = [np.argsort(side, kind="stable") for side in sides]
    ordered = [side[order] for side, order in zip(sides, orders, strict=True)]
    upto = [_upto(n, quantile) for quantile in quantiles]
    # Only ordered values near a quantile have weight: a drawn one is at most this many ranks away from it.
    reach = [int(np.ceil(12 * np.sqrt(n * q * (1 - q)) + 12)) for q in quantiles]
    windows = [(max(0, int(n * q) - wide), min(n, int(n * q) + wide)) for q, wide in zip(quantiles, reach, strict=True)]
    logs = np.empty((repetitions, len(quantiles)))
    at_once = max(1, min(repetitions, _DRAWS_AT_ONCE // n))
    for done in range(0, repetitions, at_once):
        count = min(at_once, repetitions - done)
        which = draws.integers(0, n, (count, n), dtype=np.int32) + n * np.arange(count, dtype=np.int32)[:, np.newaxis]
        times = np.bincount(which.ravel(), minlength=count * n).reshape(count, n).astype(np.int32)
        found = [
            _quantiles_of_draws(values, times[:, order], upto, windows)
            for values, order in zip(ordered, orders, strict=True)
        ]
        logs[done : done + count] = np.log(found[1]) - np.log(found[0])
    return logs


def _quantiles_of_draws(
    ordered: np.ndarray, times: np.ndarray, upto: Sequence[np.ndarray], windows: Sequence[tuple[int, int]]
) -> np.ndarray:
    """Harrell-Davis quantiles of drawn values, each with its number of draws; shape (draws, quantiles).

    Args:
        ordered: The values, sorted.
        times: How often each was drawn; shape (draws, values).
        upto: For each quantile the weight of the smallest 0 to n values together.
        windows: For each quantile the places outside of which nothing has weight.
    """
    counts = np.zeros(
        (len(times), ordered.size + 1), dtype=np.int32
    )  # the drawn values among the smallest n, for every n
    np.cumsum(times, axis=1, out=counts[:, 1:])
    found = np.empty((len(times), len(windows)))
    for place, (weights, (start, end)) in enumerate(zip(upto, windows, strict=True)):
        share = weights[counts[:, start : end + 1]]
        found[:, place] = (
            np.diff(share, axis=1) @ ordered[start:end]
            + share[:, 0] * ordered[start]
            + (1 - share[:, -1]) * ordered[end - 1]
        )
    return found
