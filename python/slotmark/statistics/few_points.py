"""The course of many values in few points, as small pictures draw it."""

import math
from collections.abc import Sequence
from itertools import pairwise

POINTS = 60
"""The most points that there are."""


def few_points(values: Sequence[float]) -> list[float]:
    """The values, or the means of neighbours where there are more of them than points; in the values' unit."""
    if len(values) <= POINTS:
        return list(values)
    ends = [round(place * len(values) / POINTS) for place in range(POINTS + 1)]
    return [math.fsum(values[start:end]) / (end - start) for start, end in pairwise(ends)]
