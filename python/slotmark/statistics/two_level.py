"""Two levels of chance: which processes ran, and which blocks they applied. docs/ledger.md explains and shows the error rates.

An estimate is linearised: each process and each block has an effect on it. What the noise between processes contributes to the spread
of the blocks' effects is counted once, with the processes: counting it with both would count it twice (Owen 2007). Blocks that follow
each other react alike; :mod:`slotmark.statistics.dependence` computes how much that makes their sum vary.
"""

import msgspec
import numpy as np

from slotmark.statistics.dependence import long_run, weighted_long_run
from slotmark.statistics.interval import Interval
from slotmark.statistics.student import satterthwaite, student
from slotmark.statistics.welch import between

LEAST_DEGREES = 4.0
"""The least degrees of freedom: with fewer blocks that decide, Student's t is far wider than any resample of them."""


class Effects(msgspec.Struct, frozen=True):
    """A linearised estimate of a log ratio.

    Attributes:
        estimate: The log ratio.
        of_runs: One array a side: by how much each process moves the estimate if it stood for all of its side; mean 0.
        of_blocks: By how much each block does, in the order of the chain; mean 0.
        noise_share: The share of the blocks' variance that is noise between processes; 0 where that isn't known.
        weights: Weight of each block in the estimate, as its share of a sum's cost; None where all are the same.
    """

    estimate: float
    of_runs: list[np.ndarray]
    of_blocks: np.ndarray
    noise_share: float
    weights: np.ndarray | None = None


class Estimate(msgspec.Struct, frozen=True, kw_only=True):
    """A ratio with its interval.

    Attributes:
        ratio: With the interval.
        bounds: The same with the interval that decides.
        log: The estimate as a logarithm.
        error: The standard error of the logarithm.
        degrees: Degrees of freedom of that error (Satterthwaite).
        error_of_runs: The processes' part of it; None where a side has one process, and nothing is known of it.
        error_of_blocks: The blocks' part.
        effective: The number of independent blocks that would be as informative.
        p: Two-sided, of a ratio of 1.
    """

    ratio: Interval
    bounds: Interval
    log: float
    error: float
    degrees: float
    error_of_runs: float | None
    error_of_blocks: float
    effective: float
    p: float

    @property
    def within_runs_only(self) -> bool:
        """Returns whether the interval leaves out how much processes differ."""
        return self.error_of_runs is None


def hierarchical(effects: Effects, *, confidence: float) -> Estimate:
    """The interval and p-value of a linearised estimate, by Student's t with Satterthwaite's degrees of freedom.

    Args:
        effects: The estimate, over at least two blocks.
        confidence: Confidence of the interval, as a fraction.
    """
    known = min(one.size for one in effects.of_runs) > 1
    n = effects.of_blocks.size
    parts: list[tuple[float, float]] = []
    runs = 0.0
    if known:
        processes = between(effects.of_runs)
        runs = processes.variance
        parts.append((processes.variance, processes.degrees))
    of_blocks = effects.of_blocks / n
    chance = long_run(of_blocks) if effects.weights is None else weighted_long_run(of_blocks, effects.weights)
    # The noise between processes is independent from block to block: it is in the blocks' variance once, however alike blocks answer.
    noise = min(chance.variance, n * float(of_blocks.var(ddof=1))) * (effects.noise_share if known else 0.0)
    blocks = chance.variance - noise
    parts.append((blocks, min(chance.degrees, _degrees(of_blocks))))
    error = float(np.sqrt(runs + blocks))
    nothing = error < 1e-12
    estimate = 0.0 if nothing and abs(effects.estimate) < 1e-12 else effects.estimate
    degrees = satterthwaite(runs + blocks, [part for part in parts if part[0] > 0])
    found = student(estimate, 0.0 if nothing else error, degrees, confidence)
    ratio, bounds = (
        Interval(*(float(np.exp(log)) for log in (estimate, one.low, one.high)))
        for one in (found.interval, found.bounds)
    )
    return Estimate(
        ratio=ratio,
        bounds=bounds,
        log=effects.estimate,
        error=0.0 if nothing else error,
        degrees=float(np.inf) if nothing else degrees,
        error_of_runs=float(np.sqrt(runs)) if known else None,
        error_of_blocks=float(np.sqrt(blocks)),
        effective=chance.effective,
        p=found.p,
    )


def _degrees(effects: np.ndarray) -> float:
    """Degrees of freedom of the variance of at least two blocks' effects.

    n - 1 where they are spread like a normal distribution or less. Where few of them are far from the others, as in sums when few
    blocks hold most of the cost, the variance rests on those: the degrees are then those of a chi-squared variable that varies as
    much, and at least :data:`LEAST_DEGREES`. The variance of a sample variance is s^4 (k / n - (n - 3) / (n (n - 1))), with k the
    kurtosis.
    """
    n, away = effects.size, effects - effects.mean()
    spread = float((away**2).mean())
    if n < 2 or spread == 0:
        return max(1.0, n - 1.0)
    most = n - 1.0
    kurtosis = float((away**4).mean()) / spread**2
    varies = kurtosis / n - (n - 3) / (n * (n - 1))
    return most if varies * most <= 2 else min(most, max(LEAST_DEGREES, 2 / varies))
