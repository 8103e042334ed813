"""The variance of sums of values that follow each other and resemble each other, as costs of consecutive blocks do.

What counts is how the values vary slowly: the spectrum at frequency 0, the long-run variance. It is read off the values' slowest
cosines, which are as good as independent of each other (equal-weighted cosine transform: Müller 2004; Lazarus, Lewis, Stock and Watson
2018), so that Student's t has as many degrees of freedom as cosines were used. Values are put together in at most 64 stretches first.
A first-order autoregression of the stretches, corrected for its bias (Kendall 1954), gives the steepness of the spectrum near 0: each cosine is
divided by that (prewhitening: Andrews and Monahan 1992), and only cosines are used at which it has fallen by at most a half.
A slow drift under much faster noise hardly shows in neighbours, so that an autoregression misses it: where the eight slowest cosines alone
show a variance half as large again, that one counts.
"""

import msgspec
import numpy as np
import scipy

MOST_STRETCHES = 64
"""The most stretches of equal length that values are put together into."""

MOST_COSINES, LEAST_COSINES = 32, 4
"""More cosines would make intervals 4 % narrower at most, and look at faster variation."""

SLOWEST = 8
"""The cosines that drift under noise is looked for in."""

_MUCH_LARGER = 1.5
"""The factor that the variance by the slowest cosines exceeds in one case in eight without drift."""

_STEEPEST = 0.97
"""Autocorrelations of stretches above this look the same as a level that drifts without end."""

LEAST_VALUES = 8
"""The fewest values from which their dependence on each other can be judged."""

LEAST_EFFECTIVE = 4
"""With fewer independent values than this, their mean may lie anywhere."""


class LongRun(msgspec.Struct, frozen=True):
    """The variation of a sum of dependent values.

    Attributes:
        variance: Variance of the sum of the values.
        degrees: Degrees of freedom of that.
        effective: The number of independent values of the same spread that would be as informative; at most as many as there are.
    """

    variance: float
    degrees: float
    effective: float


def long_run(values: np.ndarray) -> LongRun:
    """The variance of the sum of values in their order; of fewer than 8 as if they were independent.

    Args:
        values: At least two, shape (n,). Their mean is taken out.
    """
    n = values.size
    away = values - values.mean()
    alone = _product(away, away) / (n - 1)
    sums = stretches(away)
    whole = _product(sums, sums)
    if n < LEAST_VALUES or whole <= 1e-24 * n * float(np.abs(values).max()) ** 2:
        return LongRun(n * alone, n - 1.0, float(n))
    count = sums.size
    found = _product(sums[1:], sums[:-1]) / whole
    alike = min(max(found + (1 + 3 * found) / count, 0.0), _STEEPEST)
    used = _cosines(count, alike)
    power = np.asarray(scipy.fft.dct(sums, type=2, norm="ortho"))[1 : used + 1] ** 2
    flat = power * (1 - 2 * alike * np.cos(np.pi * np.arange(1, used + 1) / count) + alike**2) / (1 - alike) ** 2
    whole, slow = float(flat.mean()), float(flat[:SLOWEST].mean())
    variance = count * (slow if slow > _MUCH_LARGER * whole else whole)
    effective = n * n * alone / variance if variance > 0 else float(n)
    return LongRun(variance, float(used), min(float(n), effective))


def weighted_long_run(values: np.ndarray, weights: np.ndarray) -> LongRun:
    """The variance of the sum of values that are answers times known weights, as what blocks add to a sum of costs.

    Weights that differ much hide from neighbours how alike they answer: most of what the values vary by is that of the weights. So
    ranks of the answers themselves give how many times the variance of independent answers theirs is, f, and the sum's is
    1 + k (f - 1) times that of independent values: k = sum(weights)^2 / (n sum(weights^2)) is the share of pairs of different blocks in
    it (Kish's), where weights don't follow each other. That counts where it is half as large again as of independent values and above
    what the values themselves show. The effective number is then of values that also weigh alike.

    Args:
        values: At least two, shape (n,), in their order.
        weights: The same shape, 0 or above; where one is 0, the value is.
    """
    found, n = long_run(values), values.size
    alone = n * float(values.var(ddof=1))
    _, places, counts = np.unique(
        np.divide(values, weights, out=np.zeros(n), where=weights > 0), return_inverse=True, return_counts=True
    )
    ranks = (np.cumsum(counts) - (counts - 1) / 2)[places]  # of equal ones, the mean
    spread = n * float(ranks.var(ddof=1))
    if spread == 0 or alone == 0:
        return found
    answers = long_run(ranks)
    alike = float(weights.sum()) ** 2 / (n * _product(weights, weights))
    variance = alone * (1 + alike * (answers.variance / spread - 1))
    if variance <= max(_MUCH_LARGER * alone, found.variance):
        return found
    return LongRun(variance, answers.degrees, min(found.effective, n * alike * alone / variance))


def independent(values: np.ndarray) -> LongRun:
    """The same of at least two values that have nothing to do with each other, as hosts."""
    return LongRun(values.size * float(values.var(ddof=1)), values.size - 1.0, float(values.size))


def _product(one: np.ndarray, other: np.ndarray) -> float:
    """Returns the dot product, the same on every machine: the result of `@` depends on the processor and its number of cores."""
    return float((one * other).sum())


def stretches(values: np.ndarray) -> np.ndarray:
    """Sums of consecutive values, of about equally many each: :data:`MOST_STRETCHES` at most."""
    n = values.size
    count = n // -(-n // MOST_STRETCHES)
    return np.add.reduceat(values, np.arange(count) * n // count)


def _cosines(count: int, alike: float) -> int:
    """Returns the number of cosines to use: up to where an autoregression's spectrum has fallen by about a half."""
    most = min(MOST_COSINES, count // 2)
    if alike == 0:
        return most
    return min(most, max(LEAST_COSINES, int(count * (1 - alike) / np.sqrt(alike) / np.pi)))
