"""The ratio of a candidate's cost to the baseline's, from the cost of the same blocks in several processes of each.

Every function takes matrices of shape (processes, blocks), the same blocks in the same order on all sides.
"""

from collections.abc import Sequence

import msgspec
import numpy as np

from slotmark.statistics.hodges_lehmann import linearised
from slotmark.statistics.two_level import Effects

_KEPT = 0.98
"""Blocks beyond the central share of the ratios don't count where the noise between processes is judged."""


class Part(msgspec.Struct, frozen=True):
    """One side of a contrast.

    Attributes:
        weight: Weight of its log cost: 1 for a candidate, -1 for the baseline; weights of all parts add up to 0.
        cost: Shape (processes, blocks), all above 0.
    """

    weight: float
    cost: np.ndarray


def block_log_ratios(parts: Sequence[Part]) -> np.ndarray:
    """Per block the weighted sum of mean log costs over processes; of two sides the log of the ratio of geometric means."""
    return np.sum([part.weight * np.log(part.cost).mean(axis=0) for part in parts], axis=0)


def even_log_ratios(parts: Sequence[Part]) -> np.ndarray:
    """The same over as many processes of every side as the side with the fewest has; shape (rows, blocks), one row where all have as many.

    A pause that hits few blocks of few processes moves the mean of 3 processes rarely and far, that of 10 often and little: the typical
    block of 3 lies lower, though the means over blocks are equal. Of more processes there is a row for each group of processes that follow
    each other in a ring, so that each process is in as many rows as any other.
    """
    counts = [len(part.cost) for part in parts]
    least, most = min(counts), max(counts)
    rows = np.zeros((most if most > least else 1, parts[0].cost.shape[1]))
    for part, count in zip(parts, counts, strict=True):
        logs = np.log(part.cost)
        for place in range(len(rows)):
            first = place * count // most if count > least else 0
            rows[place] += part.weight * logs[(first + np.arange(least)) % count].mean(axis=0)
    return rows


def typical_ratio(parts: Sequence[Part]) -> Effects:
    """The typical block's ratio: the Hodges-Lehmann estimate of the blocks' log ratios, over as many processes of every side.

    Of a baseline and a candidate it is their ratio; of more sides it is a contrast, as the ratio of two ratios.

    Args:
        parts: Two sides or more, over at least two blocks.
    """
    logs = [np.log(part.cost) for part in parts]
    means = [log.mean(axis=0) for log in logs]
    aways = [part.weight * (log - mean) for part, log, mean in zip(parts, logs, means, strict=True)]
    noises = [_noise(away) for away in aways]
    rows, least = even_log_ratios(parts), min(map(len, logs))
    of_rows = np.sum([noise * (len(log) / least) for noise, log in zip(noises, logs, strict=True)], axis=0)
    found = linearised(rows.ravel(), float(np.sqrt(np.median(of_rows))))
    shift = found.shift.reshape(rows.shape).sum(axis=0)
    ratios = np.sum([part.weight * mean for part, mean in zip(parts, means, strict=True)], axis=0)
    return Effects(
        found.estimate,
        [away @ shift for away in aways],
        found.influence.reshape(rows.shape).mean(axis=0),
        _noise_share(ratios, np.sum(noises, axis=0)),
    )


def _noise(away: np.ndarray) -> np.ndarray:
    """The variance of each block's mean over processes, from what is left when each process's own level is taken out."""
    runs = len(away)
    if runs < 2:
        return np.zeros(away.shape[1])
    own = away - away.mean(axis=1, keepdims=True)
    return (own**2).sum(axis=0) / (runs - 1) / runs


def total_ratio(baseline: np.ndarray, candidate: np.ndarray) -> Effects:
    """The ratio of the times that all blocks take together, means over processes: what a syncing node feels.

    Blocks of 0 count like any other; all of a side must not be 0.

    Args:
        baseline: Shape (processes, blocks).
        candidate: The same blocks.
    """
    estimate, of_runs = 0.0, []
    of_blocks, weights, noise = (np.zeros(baseline.shape[1]) for _ in range(3))
    for sign, cost in ((-1.0, baseline), (1.0, candidate)):
        mean = cost.mean(axis=0)
        whole = float(mean.sum())
        estimate += sign * float(np.log(whole))
        share = mean / whole
        of_blocks += sign * share * share.size
        weights += share / 2
        totals = cost.sum(axis=1, dtype=np.float64)
        of_runs.append(sign * (totals / whole - 1))
        if len(cost) > 1:
            # A process that took no time at all, as one without a GC, has no level of its own to take out.
            level = np.divide(whole, totals, out=np.ones_like(totals), where=totals > 0)
            own = (cost * level[:, np.newaxis] - mean) / whole * share.size
            noise += (own**2).sum(axis=0) / (len(cost) - 1) / len(cost)
    spread = float((of_blocks**2).mean())
    known = min(1.0, float(noise.mean()) / spread) if spread > 0 else 0.0
    return Effects(estimate, of_runs, of_blocks - of_blocks.mean(), known, weights)


def _noise_share(ratios: np.ndarray, noise: np.ndarray) -> float:
    """Returns the share of the ratios' variance over blocks that noise between processes explains, without the outermost blocks."""
    low, high = np.quantile(ratios, [(1 - _KEPT) / 2, (1 + _KEPT) / 2])
    kept = (ratios >= low) & (ratios <= high)
    spread = float(ratios[kept].var(ddof=1)) if kept.sum() > 1 else 0.0
    return min(1.0, float(noise[kept].mean()) / spread) if spread > 0 else 0.0
