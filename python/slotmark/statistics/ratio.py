"""Ratios: how many times the baseline a candidate is, from values that are all above zero."""

from collections.abc import Sequence

import msgspec
import numpy as np

from slotmark.statistics.interval import Interval
from slotmark.statistics.resampling import studentised


class Ratio(msgspec.Struct, frozen=True):
    """A ratio of candidate to baseline.

    Attributes:
        interval: Estimate and interval.
        bounds: The same with the interval that decides.
        p: Two-sided p-value of a ratio of 1.
    """

    interval: Interval
    bounds: Interval
    p: float


def paired_ratio(
    baseline: np.ndarray, candidate: np.ndarray, *, confidence: float, repetitions: int, seed: Sequence[int]
) -> Ratio:
    """The typical ratio of values that belong together, as those of one round.

    Args:
        baseline: At least two values, all above zero.
        candidate: As many, in the same order.
        confidence: Of the interval, as a fraction.
        repetitions: Of the bootstrap.
        seed: Of the bootstrap.
    """
    return _ratio([np.log(candidate) - np.log(baseline)], confidence, repetitions, seed)


def unpaired_ratio(
    baseline: np.ndarray, candidate: np.ndarray, *, confidence: float, repetitions: int, seed: Sequence[int]
) -> Ratio:
    """The ratio of the typical values of two sets that have nothing to do with each other; the two may spread differently.

    Args:
        baseline: At least two values, all above zero.
        candidate: The same; there may be more or fewer.
        confidence: Of the interval, as a fraction.
        repetitions: Of the bootstrap.
        seed: Of the bootstrap.
    """
    return _ratio([np.log(candidate), -np.log(baseline)], confidence, repetitions, seed)


def _ratio(groups: Sequence[np.ndarray], confidence: float, repetitions: int, seed: Sequence[int]) -> Ratio:
    found = studentised(groups, confidence=confidence, repetitions=repetitions, seed=seed)
    with np.errstate(over="ignore"):
        interval, bounds = (
            Interval(*(float(np.exp(log)) for log in (one.estimate, one.low, one.high)))
            for one in (found.interval, found.bounds)
        )
    return Ratio(interval, bounds, found.p)
