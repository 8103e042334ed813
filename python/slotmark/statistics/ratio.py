"""Ratios: how many times the baseline a candidate is, from values that are all above zero."""

from collections.abc import Sequence

import msgspec
import numpy as np

from slotmark.statistics.autoregression import Course, apart, course
from slotmark.statistics.interval import BOUNDS, Interval
from slotmark.statistics.resampling import Studentised, studentised, trimmed_count

LEAST_IN_ORDER = 5
"""The fewest values whose order is taken into account."""


class Ratio(msgspec.Struct, frozen=True):
    """A ratio of candidate to baseline.

    Attributes:
        interval: Estimate and interval.
        bounds: The same with the interval that decides.
        p: Two-sided p-value of a ratio of 1.
        effective: The number of independent values that would be as informative as these in their order; None of values without one.
    """

    interval: Interval
    bounds: Interval
    p: float
    effective: float | None = None


def paired_ratio(
    baseline: np.ndarray, candidate: np.ndarray, *, confidence: float, repetitions: int, seed: Sequence[int]
) -> Ratio:
    """The typical ratio of values that belong together, as those of one round.

    Where ratios don't pass as independent of the ones before them, the interval is at least as wide, and the p-value at least as large, as
    :mod:`slotmark.statistics.autoregression` has them.

    Args:
        baseline: At least two values, all above zero.
        candidate: As many, in the same order, that of time.
        confidence: Confidence of the interval, as a fraction.
        repetitions: Repetitions of the bootstrap.
        seed: Seed of the bootstrap.
    """
    logs = np.log(candidate) - np.log(baseline)
    found = studentised([logs], confidence=confidence, repetitions=repetitions, seed=seed)
    size = float(logs.size)
    if logs.size < LEAST_IN_ORDER or found.interval.low == found.interval.high:
        return _ratio(found, size)
    return _in_order(found, course(logs, trimmed_count(logs.size)), size, confidence)


def unpaired_ratio(
    baseline: np.ndarray, candidate: np.ndarray, *, confidence: float, repetitions: int, seed: Sequence[int]
) -> Ratio:
    """The ratio of the typical values of two sets that have nothing to do with each other; the two may spread differently.

    Where the values of a set don't pass as independent of the ones before them, the interval is widened as in :func:`paired_ratio`.

    Args:
        baseline: At least two values, all above zero, in the order of time.
        candidate: The same; there may be more or fewer.
        confidence: Confidence of the interval, as a fraction.
        repetitions: Repetitions of the bootstrap.
        seed: Seed of the bootstrap.
    """
    groups = [np.log(candidate), -np.log(baseline)]
    found = studentised(groups, confidence=confidence, repetitions=repetitions, seed=seed)
    if min(group.size for group in groups) < LEAST_IN_ORDER or found.interval.low == found.interval.high:
        return _ratio(found, None)
    alike = apart(*(course(group, trimmed_count(group.size)) for group in groups))
    return _in_order(found, alike, None, confidence)


def _in_order(found: Studentised, alike: Course, size: float | None, confidence: float) -> Ratio:
    """Returns the ratio with the order of values taken into account; the bootstrap treats them as independent."""
    if alike.independent:
        return _ratio(found, size)
    wide = [_at_least(one, alike.reach(level)) for one, level in ((found.interval, confidence), (found.bounds, BOUNDS))]
    narrower = (found.bounds.high - found.bounds.low) / (wide[1].high - wide[1].low)
    p = max(found.p, alike.p(found.interval.estimate))
    return _ratio(Studentised(wide[0], wide[1], p), None if size is None else size * narrower**2)


def _at_least(interval: Interval, reach: float) -> Interval:
    middle = interval.estimate
    return Interval(middle, min(interval.low, middle - reach), max(interval.high, middle + reach))


def _ratio(found: Studentised, effective: float | None) -> Ratio:
    with np.errstate(over="ignore"):
        interval, bounds = (
            Interval(*(float(np.exp(log)) for log in (one.estimate, one.low, one.high)))
            for one in (found.interval, found.bounds)
        )
    return Ratio(interval, bounds, found.p, effective)
