"""Two levels of chance: which processes ran, and which blocks they applied. docs/ledger.md explains and shows the error rates.

An estimate is linearised: each process and each block has an effect on it. The hierarchical bootstrap draws processes of each
side, then blocks, and adds up their effects. What the noise between processes contributes to the spread of the blocks' effects
is counted once, with the processes: drawing both would count it twice (Owen 2007).
"""

from collections.abc import Sequence

import msgspec
import numpy as np
from scipy import stats

from slotmark.statistics.interval import Interval

MOST_GROUPS = 1_000
"""From so many blocks on, neighbours in the chain are drawn together, in so many groups of equal size (Carlstein 1986)."""

LEAST_DEGREES = 4.0
"""Where fewer groups decide, Student's t with as few degrees of freedom is far wider than any resample of them."""

_DRAWS_AT_ONCE = 1 << 21


class Effects(msgspec.Struct, frozen=True):
    """A linearised estimate of a log ratio.

    Attributes:
        estimate: The log ratio.
        of_runs: One array a side: by how much each process moves the estimate if it stood for all of its side; mean 0.
        of_blocks: By how much each block does, in the order of the chain; mean 0.
        noise_share: The share of the blocks' variance that is noise between processes; 0 where that isn't known.
    """

    estimate: float
    of_runs: list[np.ndarray]
    of_blocks: np.ndarray
    noise_share: float


class Estimate(msgspec.Struct, frozen=True, kw_only=True):
    """A ratio with its interval.

    Attributes:
        ratio: With the interval.
        log: The estimate as a logarithm.
        error: The standard error of the logarithm.
        degrees: Degrees of freedom of that error (Satterthwaite).
        error_of_runs: The processes' part of it; None where a side has one process, and nothing is known of it.
        error_of_blocks: The blocks' part.
        p: Two-sided, of a ratio of 1.
    """

    ratio: Interval
    log: float
    error: float
    degrees: float
    error_of_runs: float | None
    error_of_blocks: float
    p: float

    @property
    def within_runs_only(self) -> bool:
        """Whether the interval says nothing about how much processes differ."""
        return self.error_of_runs is None


def hierarchical(effects: Effects, *, confidence: float, repetitions: int, seed: Sequence[int]) -> Estimate:
    """The interval and p-value of a linearised estimate.

    Processes and blocks are drawn with replacement. The interval is as wide as Student's t with Satterthwaite's degrees of
    freedom says, since few processes tell their own spread badly; the draws say how much of it lies on which side.

    Args:
        effects: The estimate.
        confidence: Of the interval, as a fraction.
        repetitions: Of the bootstrap.
        seed: The same seed gives the same interval.
    """
    parts = [(np.var(one, ddof=1) / one.size, one.size - 1) for one in effects.of_runs if one.size > 1]
    known = len(parts) == len(effects.of_runs)
    runs = float(sum(variance for variance, _ in parts)) if known else 0.0
    groups = grouped(effects.of_blocks)
    share = effects.noise_share if known else 0.0
    blocks = float(groups.var(ddof=1) * groups.size * (1 - share)) if groups.size > 1 else 0.0
    error = float(np.sqrt(runs + blocks))
    if error < 1e-12:
        ratio = float(np.exp(effects.estimate))
        return Estimate(
            ratio=Interval(ratio, ratio, ratio),
            log=effects.estimate,
            error=0.0,
            degrees=np.inf,
            error_of_runs=0.0 if known else None,
            error_of_blocks=0.0,
            p=1.0 if abs(effects.estimate) < 1e-12 else 0.0,
        )
    squares = [(variance, degrees) for variance, degrees in parts if known] + [(blocks, _degrees(groups))]
    degrees = error**4 / sum(variance**2 / degrees for variance, degrees in squares if variance > 0)
    reach = float(stats.t.ppf((1 + confidence) / 2, degrees)) * error
    below, above = _sides(effects.of_runs if known else [], groups * np.sqrt(1 - share), confidence, repetitions, seed)
    low, high = effects.estimate - 2 * below * reach, effects.estimate + 2 * above * reach
    return Estimate(
        ratio=Interval(*(float(np.exp(log)) for log in (effects.estimate, low, high))),
        log=effects.estimate,
        error=error,
        degrees=float(degrees),
        error_of_runs=float(np.sqrt(runs)) if known else None,
        error_of_blocks=float(np.sqrt(blocks)),
        p=float(2 * stats.t.sf(abs(effects.estimate) / error, degrees)),
    )


def _degrees(groups: np.ndarray) -> float:
    """Degrees of freedom of the variance of at least two groups' effects.

    n - 1 where they are spread like a normal distribution or less. Where few of them are far from the others, as in sums when few
    blocks hold most of the cost, the variance rests on those: the degrees are then those of a chi-squared variable that varies as
    much, and at least :data:`LEAST_DEGREES`. The variance of a sample variance is s^4 (k / n - (n - 3) / (n (n - 1))), with k the
    kurtosis.
    """
    n, away = groups.size, groups - groups.mean()
    spread = float((away**2).mean())
    if n < 2 or spread == 0:
        return max(1.0, n - 1.0)
    most = n - 1.0
    kurtosis = float((away**4).mean()) / spread**2
    varies = kurtosis / n - (n - 3) / (n * (n - 1))
    return most if varies * most <= 2 else min(most, max(LEAST_DEGREES, 2 / varies))


def draws_of(of_runs: Sequence[np.ndarray], groups: np.ndarray, repetitions: int, seed: Sequence[int]) -> np.ndarray:
    """How far resampled estimates lie from the estimate; shape (repetitions,).

    Args:
        of_runs: One array a side, effects of processes.
        groups: Effects of groups of blocks, already divided by the number of blocks.
        repetitions: How many.
        seed: Of the draws.
    """
    draws = np.random.default_rng(list(seed))
    total = np.zeros(repetitions)
    for side in of_runs:
        total += side[draws.integers(0, side.size, (repetitions, side.size))].mean(axis=1)
    at_once = max(1, _DRAWS_AT_ONCE // groups.size)
    for done in range(0, repetitions, at_once):
        count = min(at_once, repetitions - done)
        total[done : done + count] += groups[draws.integers(0, groups.size, (count, groups.size))].sum(axis=1)
    return total


def _sides(
    of_runs: Sequence[np.ndarray], groups: np.ndarray, confidence: float, repetitions: int, seed: Sequence[int]
) -> tuple[float, float]:
    """Which shares of the interval's width lie below and above the estimate."""
    drawn = draws_of(of_runs, groups - groups.mean(), repetitions, seed)
    low, high = np.quantile(drawn, [(1 - confidence) / 2, (1 + confidence) / 2])
    below, above = max(0.0, -float(low)), max(0.0, float(high))
    if below + above == 0:
        return 0.5, 0.5
    return below / (below + above), above / (below + above)


def grouped(of_blocks: np.ndarray) -> np.ndarray:
    """What each group of neighbouring blocks adds to the mean of all blocks' effects."""
    n = of_blocks.size
    if n <= MOST_GROUPS:
        return of_blocks / n
    edges = np.arange(MOST_GROUPS) * n // MOST_GROUPS
    return np.add.reduceat(of_blocks, edges) / n
