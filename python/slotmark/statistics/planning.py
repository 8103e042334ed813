"""What a design can find: the smallest change that is found four times in five, and how many processes a change needs."""

from collections.abc import Callable

import numpy as np
from scipy import optimize, stats

POWER = 0.8
MOST_RUNS = 1_000

MOST_TIMES = 100
"""More than so many times what there is, nobody runs."""


def power(change: float, error: float, degrees: float, alpha: float) -> float:
    """The probability that a two-sided t test finds a change.

    Args:
        change: As a log ratio.
        error: Standard error of the estimate, above 0.
        degrees: Degrees of freedom of that.
        alpha: The level of the test.
    """
    limit, away = stats.t.isf(alpha / 2, degrees), abs(change) / error
    with np.errstate(all="ignore"):
        below = stats.nct.cdf(-limit, degrees, away)
    return float(stats.nct.sf(limit, degrees, away) + (below if np.isfinite(below) else 0.0))


def detectable_change(error: float, degrees: float, alpha: float = 0.05, wanted: float = POWER) -> float:
    """The smallest log ratio that is found with the wanted probability; arguments as for :func:`power`."""
    if error == 0:
        return 0.0
    start = stats.t.isf(alpha / 2, degrees) + stats.t.isf(1 - wanted, degrees)
    steps = optimize.bisect(lambda away: power(away, 1.0, degrees, alpha) - wanted, 1e-6, 4 * start + 40)
    return float(steps) * error  # pyright: ignore[reportArgumentType] - without full_output it is a number


def runs_needed(
    change: float, deviation: float, *, error_of_blocks: float = 0.0, alpha: float = 0.05, wanted: float = POWER
) -> int | None:
    """How many processes a side a change needs to be found with the wanted probability; None where no number is enough.

    Args:
        change: As a log ratio, above 0.
        deviation: Standard deviation of a process's log cost.
        error_of_blocks: The part of the standard error that more processes don't make smaller.
        alpha: The level of the test.
        wanted: The probability.
    """

    def enough(runs: int) -> bool:
        error = float(np.hypot(deviation * np.sqrt(2 / runs), error_of_blocks))
        return error == 0 or power(change, error, 2 * (runs - 1), alpha) >= wanted

    return _least(enough, MOST_RUNS)


def size_needed(
    distance: float,
    error: float,
    size: int,
    *,
    fixed: float = 0.0,
    degrees: Callable[[int], float] | None = None,
    alpha: float = 0.01,
    wanted: float = POWER,
) -> int | None:
    """How many units a side an estimate needs to be told from something so far away; None where no number within reach is enough.

    Args:
        distance: Of the truth from what it is to be told from, as a log ratio, above 0.
        error: Standard error of the estimate from so many units as there are.
        size: How many units a side there are.
        fixed: The part of the error that more units don't make smaller.
        degrees: Degrees of freedom of the error of so many units; None where they are many.
        alpha: The level of the one-sided test.
        wanted: The probability with which it is told.
    """
    shrinks = max(error**2 - fixed**2, 0.0) * size
    most = max(MOST_RUNS, MOST_TIMES * size)

    def enough(units: int) -> bool:
        freedom = degrees(units) if degrees else np.inf
        reach = stats.t.isf(alpha, freedom) + stats.t.isf(1 - wanted, freedom)
        return bool(reach * np.sqrt(shrinks / units + fixed**2) <= distance)

    return _least(enough, most)


def _least(enough: Callable[[int], bool], most: int) -> int | None:
    """The smallest number from 2 to the most that is enough, where all above it are too; None where the most isn't."""
    if not enough(most):
        return None
    low, high = 1, most
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if enough(middle) else (middle, high)
    return high
