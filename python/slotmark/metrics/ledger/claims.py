"""Checking what a report says against its own tables, as the 2023 study's text against the figures it prints.

Each function answers one kind of question from figures; nothing here reads a report.
"""

from collections.abc import Mapping, Sequence
from itertools import pairwise

import msgspec
import numpy as np
from scipy import stats

SMALLEST_PRINTED = float(np.finfo(np.float64).eps)
"""R prints p-values below this as a bound, ``< 2.2e-16``: as a p-value it is none."""

FEW_BLOCKS = 10
"""A quantile that rests on fewer blocks is one of them rather than a quantile."""


class Rival(msgspec.Struct, frozen=True):
    """A quantile at which a target that is said to be the fastest is not.

    Attributes:
        quantile: As a fraction.
        rival: Which other target is as fast or faster.
        gain: By how much of the claimed one's value the rival's is below it, in percent.
    """

    quantile: float
    rival: str
    gain: float


def speedup(baseline: float, other: float) -> float:
    """The study's speedup in percent: (baseline - other) / baseline. -100 is twice as slow, 50 is twice as fast."""
    return (baseline - other) / baseline * 100


def chi_squared_p(statistic: float, degrees: int) -> float:
    """The p-value of a chi-squared statistic."""
    return float(stats.chi2.sf(statistic, degrees))


def is_printed_as(value: float, printed: str) -> bool:
    """Whether a figure, rounded to as many digits as were printed, is what was printed.

    Numbers with an exponent are compared in significant digits, others in decimals.
    """
    text = printed.rstrip(".")
    if "e" in text.lower():
        digits = len(text.lower().split("e")[0].replace(".", "").replace("-", ""))
        return f"{value:.{digits - 1}e}" == f"{float(text):.{digits - 1}e}"
    decimals = len(text.partition(".")[2])
    return abs(value - float(text)) <= 0.5 * 10**-decimals


def is_bound(p: float) -> bool:
    """Whether a p-value is the machine's precision, which software prints as ``<``, and not computed."""
    return p <= SMALLEST_PRINTED * 1.01


def not_always_fastest(quantiles: Mapping[str, Mapping[float, float]], name: str) -> list[Rival]:
    """Where a target that is said to be the fastest at every quantile is not.

    Args:
        quantiles: By target: quantile to value, lower is faster.
        name: The target of which it is said.
    """
    return [
        Rival(quantile, rival, speedup(value, values[quantile]))
        for quantile, value in quantiles[name].items()
        for rival, values in quantiles.items()
        if rival != name and values[quantile] <= value
    ]


def exponential_quantile_ratio(numerator: float, denominator: float) -> float:
    """What the ratio of two quantiles is in every exponential distribution."""
    return float(np.log1p(-numerator) / np.log1p(-denominator))


def blocks_beyond(blocks: int, quantile: float) -> int:
    """On how many blocks a quantile rests: those at or beyond it, on the side with fewer."""
    return int(np.ceil(round(blocks * min(quantile, 1 - quantile), 9)))


def edges_within(low: float, high: float, edges: Sequence[float]) -> list[float]:
    """The edges between clusters of cost that lie between two values: what spans one is no spread of alike blocks."""
    return [edge for edge in edges if low < edge < high]


def jumps(quantiles: Mapping[float, float], factor: float = 1.5) -> list[tuple[float, float]]:
    """Neighbouring quantiles that are so many times apart: between them lies a cluster's edge."""
    return [(one, other) for (one, low), (other, high) in pairwise(sorted(quantiles.items())) if high > factor * low]


def pseudo_replicates(group_rows: int, blocks: int) -> int:
    """How many rows of a group stand for the same block; above 1 a test counts each block that often."""
    return group_rows // blocks


def recycled(values: int, groups: int) -> bool:
    """Whether R would recycle group labels over values: there are more values than labels, so that labels say nothing."""
    return values != groups


def too_fast(cost_us: float, floor_us: float) -> bool:
    """Whether a cost lies below what its own cryptography takes: the unit is another one."""
    return cost_us < floor_us
