"""Student's interval and p-value of one estimate: one inference, so that p is below 5 % exactly where the 95 % interval excludes 0."""

from collections.abc import Iterable

import msgspec
import numpy as np

from slotmark.statistics.distributions import t_ppf, t_sf
from slotmark.statistics.interval import BOUNDS, Interval


class Student(msgspec.Struct, frozen=True):
    """An estimate with its interval, and the two-sided p-value of 0; ``bounds`` is the interval at :data:`BOUNDS`."""

    interval: Interval
    bounds: Interval
    p: float


def student(estimate: float, error: float, degrees: float, confidence: float) -> Student:
    """The interval and the p-value of an estimate; without any error, the estimate alone.

    Args:
        estimate: On a scale on which no difference is 0.
        error: Its standard error.
        degrees: Degrees of freedom of that.
        confidence: Confidence of the interval, as a fraction.
    """
    if error == 0:
        alone = Interval(estimate, estimate, estimate)
        return Student(alone, alone, two_sided_p(estimate, error, degrees))
    interval, bounds = (
        Interval(estimate, estimate - reach, estimate + reach)
        for reach in (float(t_ppf((1 + one) / 2, degrees)) * error for one in (confidence, BOUNDS))
    )
    return Student(interval, bounds, two_sided_p(estimate, error, degrees))


def rounding_of(values: np.ndarray) -> float:
    """The size below which an effect or an error that is computed from values differs from 0 by the rounding of floating-point numbers alone."""
    return 1e-12 * max(float(np.abs(values).max()), 1e-300)


def beyond_rounding(estimate: float, error: float, values: np.ndarray) -> tuple[float, float]:
    """An effect that is computed from values and its error, each 0 where it is of rounding alone: of equal levels their number decides the last digits of a mean."""
    least = rounding_of(values)
    return 0.0 if abs(estimate) <= least < np.inf else estimate, 0.0 if error <= least < np.inf else error


def two_sided_p(estimate: float, error: float, degrees: float) -> float:
    """The p-value of :func:`student`."""
    if error == 0:
        return float(estimate == 0)
    return float(2 * t_sf(abs(estimate) / error, degrees))


def satterthwaite(whole: float, parts: Iterable[tuple[float, float]]) -> float:
    """Degrees of freedom of a variance that is made of others (Satterthwaite 1946).

    Args:
        whole: The variance.
        parts: Variance and degrees of freedom of each part.
    """
    squares = sum(variance**2 / degrees for variance, degrees in parts)
    return whole**2 / squares if squares > 0 else float(np.inf)
