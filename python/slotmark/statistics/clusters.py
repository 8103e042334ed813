"""Clusters of cost: whether a distribution on a log scale has several humps with valleys between them."""

from itertools import pairwise

import numpy as np
import scipy

SMOOTHED = 0.06
"""Standard deviation of the smoothing, in natural logarithms: costs 6 % apart are taken as alike."""

VALLEY = 0.5
"""Two humps are two where the lowest place between them is below this share of the lower one."""

LEAST_SHARE, LEAST_BLOCKS = 0.05, 5
"""A hump with fewer blocks than either is none."""

_CELLS = 2_048


def cluster_edges(values: np.ndarray) -> list[float]:
    """The lowest places between clusters of cost, rising, in the values' unit; empty where there is one cluster.

    Args:
        values: At least one, all above 0.
    """
    logs = np.log(values)
    low, high = logs.min() - 6 * SMOOTHED, logs.max() + 6 * SMOOTHED
    width = max((high - low) / _CELLS, SMOOTHED / 8)
    cells = int(np.ceil((high - low) / width)) + 1
    counts = np.bincount(((logs - low) / width).astype(np.int64), minlength=cells).astype(np.float64)
    density = scipy.ndimage.gaussian_filter1d(counts, SMOOTHED / width, mode="constant")
    humps = peaks(density)
    edges = _valleys(density, humps)
    while edges:
        # The shallowest valley goes, until all are deep and no cluster is too small.
        depth = [
            density[edge] / min(density[one], density[other])
            for edge, (one, other) in zip(edges, pairwise(humps), strict=True)
        ]
        shares = np.diff([0, *np.cumsum(counts)[edges], counts.sum()]) / counts.sum()
        worst = int(np.argmax(depth))
        if depth[worst] <= VALLEY:
            small = int(np.argmin(shares))
            if shares[small] >= max(LEAST_SHARE, LEAST_BLOCKS / values.size):
                break
            del humps[small]
        else:
            del humps[worst if density[humps[worst]] < density[humps[worst + 1]] else worst + 1]
        edges = _valleys(density, humps)
    return [float(np.exp(low + (edge + 0.5) * width)) for edge in edges]


def peaks(values: np.ndarray) -> list[int]:
    """The places of values that are above both neighbours, rising; of equal ones side by side, the place in their middle. The ends are none.

    They are those of scipy.signal.find_peaks, which takes longer to load than most comparisons of small runs.
    """
    begins = np.flatnonzero(np.diff(values, prepend=np.nan) != 0)
    levels, ends = values[begins], np.append(begins[1:], values.size) - 1
    above = np.flatnonzero((levels[1:-1] > levels[:-2]) & (levels[1:-1] > levels[2:])) + 1
    return ((begins[above] + ends[above]) // 2).tolist()


def _valleys(density: np.ndarray, humps: list[int]) -> list[int]:
    return [one + int(np.argmin(density[one : other + 1])) for one, other in pairwise(humps)]
