"""What a design can find: the smallest change that is found four times in five, and how many processes a change needs."""

import numpy as np
from scipy import optimize, stats

POWER = 0.8
MOST_RUNS = 1_000


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

    if not enough(MOST_RUNS):
        return None
    low, high = 1, MOST_RUNS
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if enough(middle) else (middle, high)
    return high
