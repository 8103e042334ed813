"""Finds the end of a process's warm-up: the block from which on blocks no longer cost more than later ones of their size.

Change points are those of ruptures (Truong, Oudre, Vayatis 2020): the segmentation of the least squared error with a penalty per
change point, found exactly (PELT, Killick et al. 2012).
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
    import ruptures  # noqa: PLC0415 - what only runs of many blocks need is loaded for them

    spread = MAD_SCALE * float(np.median(np.abs(np.diff(away)))) / np.sqrt(2)
    if spread == 0:
        return 0
    least = float(np.log1p(LEAST_EXCESS))
    clipped = np.clip(away, *np.median(away) + np.array([-1, 1]) * max(_CLIPPED * spread, 10 * least))
    penalty = _PENALTY * np.log(away.size) * spread**2
    ends = ruptures.KernelCPD(kernel="linear", min_size=_SHORTEST).fit(clipped[:, np.newaxis]).predict(pen=penalty)
    end = 0
    for last in ends or []:
        if np.median(away[end:last]) < least:
            break
        end = last
    return end if end < away.size else 0
