"""Numbers behind the charts of block costs: distributions, ratios of blocks, and typical ratios by cost."""

from collections.abc import Sequence

import msgspec
import numpy as np
import scipy

from slotmark.statistics.block_ratio import Part, block_log_ratios, typical_ratio
from slotmark.statistics.interval import Interval
from slotmark.statistics.two_level import hierarchical

MOST_DOTS = 1_500
"""The most blocks that are drawn; of more, this many are taken, evenly by cost."""

BANDS = 12
LEAST_IN_BAND = 8
GAP = 0.2
"""No band reaches over a gap as wide as this between the costs of two blocks, in natural logarithms: there are no such blocks."""

CELLS = 240
SMOOTHED = 0.05
"""Standard deviation of the smoothing of distributions, in natural logarithms."""


class Density(msgspec.Struct, frozen=True):
    """A distribution on a log axis.

    Attributes:
        cost: Where, rising, in the metric's unit.
        height: Blocks per unit of log cost, the largest 1.
    """

    cost: list[float]
    height: list[float]


class Dot(msgspec.Struct, frozen=True):
    """A block: its key, the baseline's cost, and the candidate's over that."""

    key: int
    cost: float
    ratio: float


class Band(msgspec.Struct, frozen=True):
    """Blocks of about one cost: from where to where, how many, and their typical ratio."""

    low: float
    high: float
    blocks: int
    ratio: Interval


def densities(costs: Sequence[np.ndarray]) -> list[Density]:
    """Distributions of costs above 0, over one common range."""
    logs = [np.log(cost) for cost in costs]
    low, high = (
        min(float(log.min()) for log in logs) - 4 * SMOOTHED,
        max(float(log.max()) for log in logs) + 4 * SMOOTHED,
    )
    edges = np.linspace(low, high, CELLS + 1)
    centres = np.exp((edges[:-1] + edges[1:]) / 2).tolist()
    found = []
    for log in logs:
        height = scipy.ndimage.gaussian_filter1d(
            np.histogram(log, edges)[0].astype(np.float64), SMOOTHED / (edges[1] - edges[0]), mode="constant"
        )
        found.append(Density(centres, (height / height.max()).tolist()))
    return found


def dots(keys: np.ndarray, baseline: np.ndarray, candidate: np.ndarray) -> list[Dot]:
    """Blocks with their ratios, by rising cost.

    Args:
        keys: Keys of the blocks.
        baseline: Shape (processes, blocks), all above 0.
        candidate: The same blocks.
    """
    cost = np.exp(np.log(baseline).mean(axis=0))
    ratios = np.exp(block_log_ratios([Part(-1, baseline), Part(1, candidate)]))
    order = np.argsort(cost, kind="stable")
    if order.size > MOST_DOTS:
        order = order[np.linspace(0, order.size - 1, MOST_DOTS).astype(np.int64)]
    return [Dot(int(keys[place]), float(cost[place]), float(ratios[place])) for place in order]


def bands(baseline: np.ndarray, candidate: np.ndarray, *, confidence: float) -> list[Band]:
    """The typical ratio of blocks of about one cost, of about as many blocks each, by rising cost; arguments as for :func:`dots`.

    Blocks that are too few for a band, between two gaps, are in none.
    """
    cost = np.exp(np.log(baseline).mean(axis=0))
    order = np.argsort(cost, kind="stable")
    found = []
    for stretch in np.split(order, np.flatnonzero(np.diff(np.log(cost[order])) > GAP) + 1):
        if stretch.size < LEAST_IN_BAND:
            continue
        count = min(max(1, round(BANDS * stretch.size / order.size)), stretch.size // LEAST_IN_BAND)
        for which in np.array_split(stretch, count):
            inside = np.sort(which)  # in the order of the chain
            estimate = hierarchical(
                typical_ratio([Part(-1, baseline[:, inside]), Part(1, candidate[:, inside])]),
                confidence=confidence,
            )
            found.append(Band(float(cost[inside].min()), float(cost[inside].max()), inside.size, estimate.ratio))
    return found
