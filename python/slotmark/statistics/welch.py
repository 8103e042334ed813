"""Differences from execution to execution, on two sides or more: runs of a cluster, processes of a build."""

from collections.abc import Sequence

import msgspec
import numpy as np

from slotmark.statistics.student import satterthwaite


class Between(msgspec.Struct, frozen=True):
    """The variance of a difference of means of executions, and its degrees of freedom."""

    variance: float
    degrees: float


def between(sides: Sequence[np.ndarray]) -> Between:
    """The variance of a sum of means, one per side: Welch's or the pooled one, whichever is larger.

    Of three executions on one side and ten on the other, nearly all of Welch's variance is of the three, and skewed noise often puts
    three near each other.

    Args:
        sides: Two values or more on each.
    """
    parts = [float(side.var(ddof=1)) / side.size for side in sides]
    own = sum(parts)
    squares = sum(float(side.var(ddof=1)) * (side.size - 1) for side in sides)
    pooled = squares / sum(side.size - 1 for side in sides) * sum(1 / side.size for side in sides)
    if pooled == 0:
        return Between(0.0, np.inf)
    if pooled > own * (1 + 1e-9):  # of sides of one size, both are the same
        return Between(pooled, float(sum(side.size - 1 for side in sides)))
    return Between(own, satterthwaite(own, [(part, side.size - 1.0) for part, side in zip(parts, sides, strict=True)]))
