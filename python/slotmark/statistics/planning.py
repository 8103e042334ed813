"""The power of a design: the smallest change that is found four times in five, and how many processes a change needs."""

import functools
from collections.abc import Callable

import numpy as np
import scipy

from slotmark.statistics.distributions import chi2_isf, chi2_ppf, nct_cdf, nct_sf, t_isf
from slotmark.statistics.interval import Interval

POWER = 0.8
MOST_RUNS = 1_000

_KNOWN = 1_000_000
"""Degrees of freedom of an error that is as good as known."""

FEW_DEGREES = 12
"""The degrees of freedom of a variance from which on few points stand for its distribution."""

MOST_TIMES = 100
"""The multiple of the present size up to which larger ones are considered."""


def power(change: float, error: float, degrees: float, alpha: float) -> float:
    """The probability that a two-sided t test finds a change.

    Args:
        change: As a log ratio.
        error: Standard error of the estimate, above 0.
        degrees: Degrees of freedom of that.
        alpha: The level of the test.
    """
    limit, away = t_isf(alpha / 2, degrees), abs(change) / error
    with np.errstate(all="ignore"):
        below = nct_cdf(-limit, degrees, away)
    return float(nct_sf(limit, degrees, away) + (below if np.isfinite(below) else 0.0))


def detectable_change(error: float, degrees: float, alpha: float = 0.05) -> float:
    """The smallest log ratio that is found with the probability :data:`POWER`; arguments as for :func:`power`."""
    if error == 0:
        return 0.0
    start = t_isf(alpha / 2, degrees) + t_isf(1 - POWER, degrees)
    steps = scipy.optimize.bisect(lambda away: power(away, 1.0, degrees, alpha) - POWER, 1e-6, 4 * start + 40)
    return float(steps) * error  # pyright: ignore[reportArgumentType] - without full_output it is a number


def detectable_share(error: float, degrees: float, known: float, alpha: float) -> float:
    """The smallest difference of two means, as a share of the first, that Welch's test of runs to come will show with the probability :data:`POWER`.

    What is larger by a share varies more by the same share. The error is an estimate from earlier runs: the probability is over what it may be in truth, too.

    Args:
        error: Standard error of the difference where both means are equal, as a share of the mean.
        degrees: Degrees of freedom of each side's part of the error, in the runs to come.
        known: Degrees of freedom of ``error`` itself.
        alpha: The level of the two-sided test.

    Returns:
        Infinity where no difference is found so often.
    """
    if error == 0:
        return 0.0
    # The share d solves d^2 = square (1 + (1 + d)^2) / 2.
    square = (_welch_steps(round(degrees), _whole(known), alpha) * error) ** 2
    half = square / 2
    return float((half + np.sqrt(square - half**2)) / (1 - half)) if half < 1 else float(np.inf)


def detectable_log(error: float, degrees: float, known: float, alpha: float, *, before: float = 0.0) -> float:
    """The smallest log ratio that Student's t test of units to come will show with the probability :data:`POWER`.

    The error is an estimate from earlier units: the probability is over what it may be in truth, too. A part of the test's degrees of freedom may be from before, as
    those of a table: that part of its variance is the estimate once more.

    Args:
        error: Standard error of the log ratio, by what is known.
        degrees: Degrees of freedom that the units to come have.
        known: Degrees of freedom of ``error`` itself.
        alpha: The level of the two-sided test.
        before: Degrees of freedom that the test has beside those of the units to come.

    Returns:
        Infinity where the test has no degree of freedom.
    """
    if error == 0:
        return 0.0
    if degrees + before <= 0:
        return float(np.inf)
    return error * _student_steps(round(degrees), min(before, _KNOWN), _whole(known), alpha)


def units_needed(
    distance: float,
    error: float,
    degrees: Callable[[int], float],
    known: float,
    alpha: float,
    *,
    before: float = 0.0,
    first: int = 2,
    step: int = 1,
) -> int | None:
    """Returns the number of units with which :func:`detectable_log` shows a log ratio; None where no number within reach is enough.

    Args:
        distance: The log ratio, above 0.
        error: Standard error from one unit.
        degrees: Degrees of freedom that so many units have.
        known: As of :func:`detectable_log`.
        alpha: As there.
        before: As there.
        first: The least number.
        step: Numbers are this far apart, from the first on.
    """

    def enough(steps: int) -> bool:
        units = first + (steps - 1) * step
        return detectable_log(error / np.sqrt(units), degrees(units), known, alpha, before=before) <= distance

    steps = least(enough, (MOST_RUNS - first) // step + 1, first=1)
    return None if steps is None else first + (steps - 1) * step


def _whole(degrees: float) -> int:
    return round(min(degrees, _KNOWN))


@functools.lru_cache(maxsize=4_096)
def _welch_steps(degrees: int, known: int, alpha: float) -> float:
    """Returns how many estimated standard errors from none a difference must be for Welch's test to find it."""
    # Variances of few degrees of freedom differ much, and need more points to stand for all of them.
    points = 40 if min(degrees, known) < FEW_DEGREES else 16
    shares = (np.arange(points) + 0.5) / points
    variances = chi2_ppf(shares, degrees) / degrees
    # Either side may have either variance: a pair stands for both ways round.
    first, second = np.triu_indices(points)
    one, other = variances[first], variances[second]
    weights = np.where(first == second, 1, 2) / points**3
    freedom = (one + other) ** 2 * degrees / (one**2 + other**2)
    limits = t_isf(alpha / 2, freedom) * np.sqrt((one + other) / 2)
    truths = np.sqrt(chi2_ppf(shares, known) / known)
    return _steps(truths, limits, weights)


@functools.lru_cache(maxsize=4_096)
def _student_steps(degrees: int, before: float, known: int, alpha: float) -> float:
    """The same for Student's t test by one variance, of which ``before`` degrees of freedom are those of the estimate."""
    points = 100
    shares = (np.arange(points) + 0.5) / points
    squares = chi2_ppf(shares, known) / known
    drawn = chi2_ppf(shares, degrees) / degrees if degrees else np.zeros(points)
    whole = degrees + before
    limits = t_isf(alpha / 2, whole) * np.sqrt((before * squares[:, np.newaxis] + degrees * drawn) / whole)
    return _steps(np.sqrt(squares), limits, np.full(points, 1 / points**2))


def _steps(truths: np.ndarray, limits: np.ndarray, weights: np.ndarray) -> float:
    """Returns how far from none a difference must be to pass the limits with the probability :data:`POWER`, over what the error may be in truth."""

    def missing(steps: float) -> float:
        return float((scipy.special.ndtr(steps * truths[:, np.newaxis] - limits).sum(axis=0) * weights).sum()) - POWER

    high = 10.0
    while missing(high) < 0:
        high *= 4
    return float(scipy.optimize.brentq(missing, 0.0, high, rtol=1e-4))  # pyright: ignore[reportArgumentType] - without full_output it is a number


def detectable_between(error: float, runs: int, alpha: float = 0.05) -> float:
    """The smallest log ratio that Welch's test of this many runs per side finds with the probability :data:`POWER`.

    Args:
        error: Standard error of the estimate; both sides vary alike, by what is known.
        runs: Runs of each side, at least 3.
        alpha: The level of the two-sided test.
    """
    return _welch_steps(runs - 1, _KNOWN, alpha) * error


def deviation_range(deviation: float, degrees: float, confidence: float) -> Interval:
    """A standard deviation of normal values with the interval that its variance's chi-squared distribution gives it."""
    low, high = (
        deviation * float(np.sqrt(degrees / chi2_isf(tail, degrees)))
        for tail in ((1 - confidence) / 2, (1 + confidence) / 2)
    )
    return Interval(deviation, low, high)


def runs_needed(change: float, deviation: float, *, error_of_blocks: float = 0.0, alpha: float = 0.05) -> int | None:
    """Returns the processes per side that a change needs to be found with the probability :data:`POWER`; None where no number is enough.

    Args:
        change: As a log ratio, above 0.
        deviation: Standard deviation of a process's log cost.
        error_of_blocks: The part of the standard error that more processes don't make smaller.
        alpha: The level of the test.
    """

    def enough(runs: int) -> bool:
        error = float(np.hypot(deviation * np.sqrt(2 / runs), error_of_blocks))
        return error == 0 or power(change, error, 2 * (runs - 1), alpha) >= POWER

    return least(enough, MOST_RUNS)


def size_needed(
    distance: float,
    error: float,
    size: float,
    *,
    fixed: float = 0.0,
    degrees: Callable[[int], float] | None = None,
    limit: Callable[[float, int], float] | None = None,
    alpha: float = 0.01,
    wanted: float = POWER,
) -> int | None:
    """Returns the units per side that an estimate needs to differ clearly from a value at this distance; None where no number within reach is enough.

    Args:
        distance: Distance of the truth from the value that it is compared with, as a log ratio, above 0.
        error: Standard error of the estimate from the present units.
        size: Number of units a side; for unlike sides, the number on each that would be as informative.
        fixed: The part of the error that more units don't make smaller.
        degrees: Degrees of freedom of the error for a number of units; None where they are many.
        limit: The number of standard errors that the test asks for at a level and with a number of units; Student's by default.
        alpha: The level of the one-sided test.
        wanted: The probability with which the difference is found.
    """
    shrinks = max(error**2 - fixed**2, 0.0) * size
    most = max(MOST_RUNS, int(MOST_TIMES * size))

    def enough(units: int) -> bool:
        freedom = degrees(units) if degrees else np.inf
        reach = (limit(alpha, units) if limit else t_isf(alpha, freedom)) + t_isf(1 - wanted, freedom)
        return bool(reach * np.sqrt(shrinks / units + fixed**2) <= distance)

    return least(enough, most)


def least(enough: Callable[[int], bool], most: int, *, first: int = 2) -> int | None:
    """The smallest number from ``first`` on that is enough, where all above it are too; None where ``most`` isn't."""
    if not enough(most):
        return None
    low, high = first - 1, most
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if enough(middle) else (middle, high)
    return high
