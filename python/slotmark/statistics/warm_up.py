"""Finds the end of a process's warm-up: the block from which on blocks no longer cost more than later ones of their size.

Change points are those of the segmentation of the least squared error with a penalty per change point, found exactly by optimal
partitioning (Jackson et al. 2005).
"""

from collections.abc import Sequence

import msgspec
import numpy as np

from slotmark.statistics.location import MAD_SCALE

LEAST_BLOCKS = 60
"""The fewest later blocks that show what blocks cost later."""

MOST_LOOKED_AT = 2_000
"""The number of first blocks among which change points are looked for."""

LEAST_EXCESS = 0.05
"""A smaller excess is no warm-up."""

_SHORTEST = 5
_PENALTY = 5.0
_CLIPPED = 3.0


class WarmUp(msgspec.Struct, frozen=True):
    """The cost of a process's warm-up.

    Attributes:
        blocks: How many first blocks it took.
        excess: By which fraction they cost more than later blocks of their size.
        share: Share of that excess in the cost of all blocks.
    """

    blocks: int
    excess: float
    share: float


def warm_up(costs: np.ndarray, sizes: Sequence[np.ndarray]) -> WarmUp | None:
    """The warm-up that the costs of a process's blocks show; None where they show none.

    What blocks of a size cost later is fitted to the second half: log cost by the logs of sizes. Blocks of other sizes than those of
    the second half are not looked at. A beginning that ends behind the first half is no warm-up.

    Args:
        costs: In the order of the chain, from 0 on; shape (n,).
        sizes: What a block's cost follows, as bytes and transactions, each of the same shape, from 0 on.
    """
    kept = np.flatnonzero(costs > 0)
    half = costs.size // 2
    later = kept[kept >= half]
    if costs.size < LEAST_BLOCKS or later.size < LEAST_BLOCKS // 2:
        return None
    logs = [np.log1p(size.astype(float)) for size in sizes]
    for log in logs:
        kept = kept[(log[kept] >= log[later].min()) & (log[kept] <= log[later].max())]
    design = np.stack([np.ones(costs.size), *logs], axis=1)
    with np.errstate(divide="ignore"):
        cost = np.log(costs.astype(float))
    factors = np.linalg.lstsq(design[later], cost[later], rcond=None)[0]
    away = cost - design @ factors
    steady = float(np.median(away[later]))
    seen = kept[:MOST_LOOKED_AT]
    if seen.size < 2 * _SHORTEST:
        return None
    place = _end(away[seen] - steady)
    if place == 0 or (end := int(seen[place - 1]) + 1) > half:
        return None
    first = kept[kept < end]
    excess = float(np.expm1(np.median(away[first]) - steady))
    extra = float(costs[first].sum()) * (1 - 1 / (1 + excess))
    return WarmUp(end, excess, extra / float(costs.sum())) if excess >= LEAST_EXCESS else None


def _end(away: np.ndarray) -> int:
    """Returns how many first values belong to segments that all lie above 0 by the least excess; 0 where the first doesn't."""
    spread = MAD_SCALE * float(np.median(np.abs(np.diff(away)))) / np.sqrt(2)
    if spread == 0:
        return 0
    least = float(np.log1p(LEAST_EXCESS))
    clipped = np.clip(away, *np.median(away) + np.array([-1, 1]) * max(_CLIPPED * spread, 10 * least))
    penalty = _PENALTY * np.log(away.size) * spread**2
    end = 0
    for last in segment_ends(clipped, penalty):
        if np.median(away[end:last]) < least:
            break
        end = last
    return end if end < away.size else 0


def segment_ends(values: np.ndarray, penalty: float) -> list[int]:
    """The ends of the segments, rising, whose squared errors and a penalty each are least together; the last is the number of values.

    KernelCPD of the library ruptures finds the same; to load it takes longer than to replay 300 blocks.

    Args:
        values: At least :data:`_SHORTEST`, the length of the shortest segment. Time grows with the square of their number.
        penalty: In the square of their unit.
    """
    count = values.size
    values = values - values.mean()
    sums, squares = (np.concatenate([[0.0], np.cumsum(one)]) for one in (values, values**2))
    least = np.full(count + 1, np.inf)
    least[0] = 0.0
    begins = np.zeros(count + 1, np.int64)
    places = np.arange(count + 1)
    for end in range(_SHORTEST, count + 1):
        first = slice(end - _SHORTEST + 1)
        errors = squares[end] - squares[first] - (sums[end] - sums[first]) ** 2 / (end - places[first])
        costs = least[first] + errors
        begins[end] = costs.argmin()
        least[end] = costs[begins[end]] + penalty
    ends = [count]
    while (begin := int(begins[ends[-1]])) > 0:
        ends.append(begin)
    return ends[::-1]
