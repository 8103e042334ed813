"""The studentised bootstrap behind every interval and p-value of a ratio. docs/method.md has the reasons for it.

A group is a set of log values whose typical value counts: the log ratios of the rounds of a pair of runs, or the log
values of each of two runs that can't be paired. The location of several groups is the sum of their trimmed means.
"""

from collections.abc import Iterator, Sequence

import msgspec
import numpy as np

from slotmark.statistics.interval import BOUNDS, Interval

SMOOTHING = 0.35
"""Noise added to each resampled value, in standard deviations of its group.

Without it, resamples of five to ten values are so often almost all the same value that no p-value can be small.
"""

TRIM_FROM = 8
"""From this many values on, the smallest and the largest tenth are left out, at least one of each."""

_ROUNDING = 1e-12
"""Log values closer to each other than this differ by the rounding of floating-point numbers."""

_VALUES_AT_ONCE = 1 << 21
"""Resampled values that are in memory at a time."""


class Location(msgspec.Struct, frozen=True):
    """A typical log value with its standard error."""

    estimate: float
    error: float


class Studentised(msgspec.Struct, frozen=True):
    """A location with the results of the bootstrap.

    Attributes:
        interval: The location with its interval.
        bounds: The same with the interval that decides.
        p: Two-sided, of a location of 0; never below 1 / (repetitions + 1).
    """

    interval: Interval
    bounds: Interval
    p: float


def trimmed_count(n: int) -> int:
    """Returns how many of n values are left out at each end: none below :data:`TRIM_FROM`, then a tenth, at least one."""
    return max(1, n // 10) if n >= TRIM_FROM else 0


def location(groups: Sequence[np.ndarray]) -> Location:
    """The sum of the groups' trimmed means, and its standard error from their winsorised deviations (Tukey and McLaughlin).

    Args:
        groups: One-dimensional, at least two values each.
    """
    estimate, error = _locations([np.sort(group)[np.newaxis] for group in groups])
    return Location(float(estimate[0]), float(error[0]))


def studentised(
    groups: Sequence[np.ndarray], *, confidence: float, repetitions: int, seed: Sequence[int]
) -> Studentised:
    """The location of the groups, with a symmetric bootstrap-t interval and the p-value of the same bootstrap.

    Values are drawn with replacement within each group and smoothed; of each draw, the distance of its location from
    the true one is divided by its own standard error. Order of values doesn't matter; negating all of them negates the result.
    Where all values are equal, the interval is the estimate alone.

    Args:
        groups: One-dimensional, at least two values each.
        confidence: Confidence of the interval, as a fraction.
        repetitions: How many draws.
        seed: The same seed gives the same result.
    """
    # The mirror image draws the same numbers, so that swapping two runs gives exactly the inverse.
    sign = -1.0 if location(groups).estimate < 0 else 1.0
    groups = [np.sort(sign * group) for group in (groups if sign > 0 else reversed(groups))]
    found = location(groups)
    if found.error < _ROUNDING:
        estimate = sign * found.estimate if found.estimate > _ROUNDING else 0.0
        alone = Interval(estimate, estimate, estimate)
        return Studentised(alone, alone, 1 / (repetitions + 1) if estimate else 1.0)
    distances = np.sort(np.concatenate(list(_distances(groups, repetitions, np.random.default_rng(list(seed))))))
    beyond = int((distances >= abs(found.estimate) / found.error).sum())
    interval, bounds = (
        Interval(sign * found.estimate, *sorted((sign * (found.estimate - reach), sign * (found.estimate + reach))))
        for reach in (_farthest_inside(distances, one) * found.error for one in (confidence, BOUNDS))
    )
    return Studentised(interval, bounds, (beyond + 1) / (repetitions + 1))


def _farthest_inside(distances: np.ndarray, confidence: float) -> float:
    """The largest distance whose p-value, (1 + number at or above it) / (1 + number of all), isn't below 1 - confidence.

    Args:
        distances: Rising.
        confidence: As a fraction.
    """
    n = distances.size
    allowed = int(np.ceil((1 - confidence) * (n + 1) - 1e-9)) - 2
    return float(distances[n - 1 - allowed]) if allowed >= 0 else float(np.inf)


def _distances(groups: Sequence[np.ndarray], repetitions: int, draws: np.random.Generator) -> Iterator[np.ndarray]:
    """Absolute studentised distances of resampled locations, some at a time."""
    noise = [SMOOTHING * location([group]).error * np.sqrt(group.size) for group in groups]
    true = location(groups).estimate
    at_once = max(1, _VALUES_AT_ONCE // max(group.size for group in groups))
    for done in range(0, repetitions, at_once):
        shape = min(at_once, repetitions - done)
        resampled = [
            np.sort(
                group[draws.integers(0, group.size, (shape, group.size))]
                + width * draws.standard_normal((shape, group.size))
            )
            for group, width in zip(groups, noise, strict=True)
        ]
        estimates, errors = _locations(resampled)
        yield np.abs(estimates - true) / errors


def _locations(groups: Sequence[np.ndarray]) -> tuple[np.ndarray, np.ndarray]:
    """Location and standard error of many resamples at once; each group has shape (resamples, n), its rows sorted."""
    estimates, variances = 0.0, 0.0
    for group in groups:
        n = group.shape[1]
        cut = trimmed_count(n)
        kept = group[:, cut : n - cut]
        mean = kept.mean(axis=1)
        # Winsorised: the values left out count as the outermost that were kept.
        centre = (kept.sum(axis=1) + cut * (kept[:, 0] + kept[:, -1])) / n
        squares = ((kept - centre[:, np.newaxis]) ** 2).sum(axis=1)
        squares += cut * ((kept[:, 0] - centre) ** 2 + (kept[:, -1] - centre) ** 2)
        estimates = estimates + mean
        variances = variances + squares / (n - 1) / n / (1 - 2 * cut / n) ** 2
    return np.asarray(estimates), np.sqrt(variances)
