"""The bootstrap: resampling with replacement, seeded. See docs/method.md.

The studentised bootstrap (Efron 1979; Hall 1988) resamples ``(mean* - mean) / se*``, so that an interval from few
samples is as wide as few samples deserve; its p-value inverts the same distribution, so the two always agree.
"""

import zlib

import msgspec
import numpy as np
from numpy.typing import NDArray

Values = NDArray[np.float64]


class Estimated(msgspec.Struct, frozen=True):
    """A mean or difference of means, with its interval and the two-sided p-value of 0."""

    estimate: float
    low: float
    high: float
    p: float


def generator(seed: int, *names: str) -> np.random.Generator:
    """A generator that depends on the seed and on what it is for, not on what was drawn before."""
    return np.random.default_rng([seed, *(zlib.crc32(name.encode()) for name in names)])


def mean(values: Values, confidence: float, repetitions: int, random: np.random.Generator) -> Estimated:
    """The mean of independent values, shape (n,), n >= 2."""
    draws = values[random.integers(0, values.size, (repetitions, values.size))]
    return _studentised(values.mean(), _error(values), draws.mean(axis=1), _error(draws), confidence)


def difference(
    base: Values, other: Values, confidence: float, repetitions: int, random: np.random.Generator
) -> Estimated:
    """The mean of ``other`` less that of ``base``, two independent samples of at least 2 values."""
    first = base[random.integers(0, base.size, (repetitions, base.size))]
    second = other[random.integers(0, other.size, (repetitions, other.size))]
    return _studentised(
        other.mean() - base.mean(),
        np.hypot(_error(base), _error(other)),
        second.mean(axis=1) - first.mean(axis=1),
        np.hypot(_error(first), _error(second)),
        confidence,
    )


def median_interval(
    values: Values, confidence: float, repetitions: int, random: np.random.Generator
) -> tuple[float, float]:
    """Percentile-bootstrap interval of the median; shape (n,), n >= 1."""
    draws = np.median(values[random.integers(0, values.size, (repetitions, values.size))], axis=1)
    low, high = np.quantile(draws, [(1 - confidence) / 2, (1 + confidence) / 2])
    return float(low), float(high)


def _error(values: Values) -> NDArray[np.float64]:
    """Standard error of the mean over the last axis."""
    return np.asarray(values.std(axis=-1, ddof=1) / np.sqrt(values.shape[-1]))


def _studentised(
    estimate: float, error: NDArray[np.float64], centres: Values, errors: Values, confidence: float
) -> Estimated:
    estimate, width = float(estimate), float(error)
    floor = 2 / (centres.size + 1)
    if width <= 1e-12 * max(1.0, abs(estimate)):  # all values are equal: nothing to resample
        return Estimated(estimate, estimate, estimate, 1.0 if estimate == 0 else floor)
    distance = centres - estimate
    with np.errstate(divide="ignore", invalid="ignore"):
        t = np.where(errors > 0, distance / errors, np.sign(distance) * np.inf)
    t = np.nan_to_num(t, nan=0.0, posinf=1e12, neginf=-1e12)
    low, high = np.quantile(t, [(1 - confidence) / 2, (1 + confidence) / 2], method="inverted_cdf")
    observed = estimate / width
    beyond = min(np.count_nonzero(t >= observed), np.count_nonzero(t <= observed))
    p = float(min(1.0, 2 * (beyond + 1) / (centres.size + 1)))
    return Estimated(estimate, estimate - float(high) * width, estimate - float(low) * width, p)
