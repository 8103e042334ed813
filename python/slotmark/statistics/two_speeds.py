"""Finds values that lie at two levels with a gap between, as where a client runs at one of two speeds, and whether they stick to one.

How much of the time is spent at either shows in the changes between them, not in how many values there are: of ten values that changed once, the share of
either level could be anything.
"""

import msgspec
import numpy as np

GAP = 4.0
"""The least distance between the two groups, in standard deviations of the values about the means of their own."""

LEAST_AT_EACH = 2
"""The fewest values of a level: a single value far off is an outlier."""

ENOUGH_CHANGES = 6
"""With so many, intervals of 10 to 40 rounds cover the truth or get no verdict in 95 of 100 cases."""

USUAL = 0.75
"""Values don't stick to a level where they change at least so much as often as in a random order: two outliers are no speed."""


class Levels(msgspec.Struct, frozen=True):
    """Two levels of some values.

    Attributes:
        upper: Which values are at the upper one.
        apart: The distance of the levels' means.
        changes: How often values in their order change from one to the other.
        usual: How often they would in a random order, in the mean.
    """

    upper: np.ndarray
    apart: float
    changes: int
    usual: float

    @property
    def sticks(self) -> bool:
        """Returns whether values stick to a level, and changed it too seldom to show how much of the time they are at either."""
        return self.changes < min(ENOUGH_CHANGES, USUAL * self.usual)


def two_levels(values: np.ndarray) -> Levels | None:
    """Returns the two levels that values lie at; None where there aren't two.

    Args:
        values: In their order, on a scale on which noise is alike at both levels, as logarithms of times; shape (n,).
    """
    n = values.size
    ordered = np.sort(values)
    splits = np.arange(LEAST_AT_EACH, n - LEAST_AT_EACH + 1)
    if splits.size == 0:
        return None
    at = int(splits[np.diff(ordered)[splits - 1].argmax()])
    lower, upper = ordered[:at], ordered[at:]
    squares = sum(float(((group - group.mean()) ** 2).sum()) for group in (lower, upper))
    gap = float(upper[0] - lower[-1])
    if gap <= 0 or gap < GAP * (squares / (n - 2)) ** 0.5:
        return None
    above = values >= upper[0]
    return Levels(
        above, float(upper.mean() - lower.mean()), int(np.count_nonzero(np.diff(above))), 2 * at * (n - at) / n
    )


def stuck(values: np.ndarray, differences: np.ndarray) -> Levels | None:
    """Returns the levels of one side's values if they stick to them and differences from the other side change with them; None else.

    What changes both sides alike, as the speed of the machine, goes out of their differences.

    Args:
        values: Of one side, in their order.
        differences: From the other side's value of the same time, in the same order; the values themselves where there is none.
    """
    found = two_levels(values)
    if found is None or not found.sticks:
        return None
    apart = float(differences[found.upper].mean() - differences[~found.upper].mean())
    return found if abs(apart) >= found.apart / 2 else None
