"""Student's interval and p-value that hold at every look: a confidence sequence for the mean of differences that come one by one.

An interval at 99 % that is looked at after each new difference, until it shows what was hoped for, misses the truth far more often than in 1 of 100 cases. The
intervals of a confidence sequence hold the truth at all looks together in 99 of 100 cases, however often one looks and for whatever reason one stops.

It is the one of the t test with a normal prior of the effect in standard deviations of a difference (Lai 1976; Wang and Ramdas, "Anytime-valid t-tests and confidence
sequences for Gaussian means with unknown variance", 2024): the ratio of the likelihoods of all t statistics so far, under the prior and under no effect, is a martingale
where there is none, so that it ever reaches 1 / alpha in a share alpha of cases at most (Ville 1939).
"""

import numpy as np

from slotmark.statistics.interval import BOUNDS, Interval
from slotmark.statistics.student import Student, student

PRIOR = 2.0
"""The variance of the prior, in variances of a difference. Of what was tried (benchmarks/statistics/looks.py), 1 to 8 differ little in how soon they decide."""

FIRST_LOOK = 5
"""The number of differences from which on intervals that decide have ends."""


def anytime(estimate: float, error: float, count: int, confidence: float) -> Student:
    """The interval and the p-value of a mean, as of :func:`slotmark.statistics.student.student`, that hold at all looks together.

    Args:
        estimate: Mean of the differences.
        error: Its standard error.
        count: How many differences there are, two or more.
        confidence: Confidence of the interval, as a fraction.
    """
    if error == 0:
        return student(estimate, error, count - 1.0, confidence)
    interval, bounds = (
        Interval(estimate, estimate - reach, estimate + reach)
        for reach in (limit_of_looks(1 - one, count) * error for one in (confidence, BOUNDS))
    )
    return Student(interval, bounds, _p(estimate / error, count))


def limit_of_looks(alpha: float, count: int) -> float:
    """Returns the t statistic that is reached at any look, in a share alpha of cases at most where there is no effect; infinity where none shows so much.

    Args:
        alpha: The share, for both signs together.
        count: How many differences there are.
    """
    widened = 1 + count * PRIOR
    # The ratio of likelihoods as a function of t, solved for t.
    power = (np.sqrt(widened) / alpha) ** (2 / count)
    if power >= widened:
        return float(np.inf)
    return float(np.sqrt((count - 1) * (power - 1) / (1 - power / widened)))


def _p(t: float, count: int) -> float:
    widened = 1 + count * PRIOR
    square = t**2 / (count - 1)
    log_ratio = (np.log1p(square) - np.log1p(square / widened)) * count / 2 - np.log(widened) / 2
    return float(min(1.0, np.exp(-log_ratio)))
