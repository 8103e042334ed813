"""Warnings about a comparison of block costs, by rule."""

from collections.abc import Sequence

import numpy as np

from slotmark.metrics import Catalogue
from slotmark.numbers import fixed, percent
from slotmark.statistics.clusters import cluster_edges
from slotmark.statistics.shift import Shift
from slotmark.warnings import Warning

FEW_BLOCKS = 10
"""A quantile that rests on fewer blocks is warned of."""

COARSE = 20.0
"""Below this median cost, in us, ratios of blocks show the resolution of a whole microsecond: only sums are compared."""

COARSE_FINER = 0.5
"""The same for times in ns: what reading the clock takes, some 25 ns, shows."""

PAUSED_SHARE = 0.02
"""From this share of the total on, pauses are warned of."""

NAMED = 5
"""The most blocks that are named."""

HALF = 0.5
FEW_SHARE = 0.01
"""An effect comes from few blocks where this share of them makes up half of it."""


def thin_quantiles(bench: Catalogue, shifts: Sequence[Shift]) -> list[Warning]:
    """Warning about quantiles that rest on few blocks."""
    thin = [percent(one.quantile) for one in shifts if one.beyond < FEW_BLOCKS]
    return bench.warnings_on("thin_quantiles", quantiles=", ".join(thin), needed=str(FEW_BLOCKS)) if thin else []


def few_blocks(
    bench: Catalogue, baseline: np.ndarray, candidate: np.ndarray, keys: np.ndarray, margin: float
) -> list[Warning]:
    """Warning about a difference of sums that comes from few blocks.

    Args:
        bench: The catalogue with the words.
        baseline: Mean cost of each block.
        candidate: The same blocks.
        keys: Their slots.
        margin: Differences within it aren't asked about.
    """
    differences = candidate - baseline
    whole = float(differences.sum())
    if baseline.sum() <= 0 or abs(whole) <= margin * baseline.sum():
        return []
    order = np.argsort(-differences * np.sign(whole), kind="stable")
    upto = np.cumsum(differences[order]) / whole
    needed = int(np.searchsorted(np.maximum.accumulate(upto), HALF)) + 1
    expected = np.cumsum(np.sort(baseline)[::-1]) / baseline.sum()
    # Where few blocks hold half of all cost, half of the effect coming from as many is no surprise.
    if needed > max(1, FEW_SHARE * differences.size) or expected[needed - 1] >= HALF / 2:
        return []
    first = ", ".join(str(int(key)) for key in keys[order[: min(needed, NAMED)]])
    return bench.warnings_on(
        "from_few",
        needed=str(needed),
        blocks=differences.size,
        which=first + (" and more" if needed > NAMED else ""),
        share=percent(float(expected[needed - 1])),
    )


def coarse_below(values: np.ndarray) -> float:
    """The typical cost in us below which ratios of blocks show the resolution: by whether times are cut to whole microseconds."""
    return COARSE if np.array_equal(values, np.rint(values)) else COARSE_FINER


def coarse(bench: Catalogue, metric: str, values: np.ndarray) -> list[Warning]:
    """Warning about costs near the resolution; values of shape (processes, blocks), in us."""
    typical, least = float(np.median(values.mean(axis=0))), coarse_below(values)
    if not 0 < typical < least:
        return []
    limit = (
        f"takes {fixed(typical)} us, and times are cut to whole microseconds"
        if least == COARSE
        else f"takes {fixed(1000 * typical)} ns, of which reading the clock is a part"
    )
    return bench.warnings_on("coarse", metric, limit=limit)


def clustered(bench: Catalogue, costs: np.ndarray, unit: str) -> list[Warning]:
    """Warning about costs above 0 that come in clusters."""
    above = costs[costs > 0]
    edges = cluster_edges(above) if above.size else []
    if not edges:
        return []
    shown = ", ".join(fixed(edge) for edge in edges)
    return bench.warnings_on("grouped", groups=str(len(edges) + 1), edges=shown, unit=unit)


def paused(bench: Catalogue, share: float) -> list[Warning]:
    """Warning about totals of which pauses are a large share."""
    return bench.warnings_on("pauses", share=percent(share)) if share >= PAUSED_SHARE else []
