"""Doubts about a comparison of block costs, by rule."""

from collections.abc import Sequence

import numpy as np

from slotmark.statistics.clusters import cluster_edges
from slotmark.statistics.shift import Shift
from slotmark.warnings import Warning

FEW_BLOCKS = 10
COARSE_US = 20.0
"""Below this median cost the resolution of a microsecond shows."""

GC_SHARE = 0.02
HALF = 0.5
FEW_SHARE = 0.01
"""An effect comes from few blocks where this share of them makes up half of it."""


def one_process(name: str) -> Warning:
    """A side with one process."""
    return Warning(
        "one_process",
        "One process: intervals cover what varies inside it only, and no verdict about the build is given. Record at least 5 a build.",
        name,
    )


def gc_inside(name: str, share: float) -> Warning:
    """GC pauses are in the totals."""
    return Warning(
        "gc_inside",
        f"{share:.0%} of the total time is GC: a difference in total time may come from when the collector ran. Read mutator time beside it.",
        name,
    )


def clusters(name: str, edges: Sequence[float], unit: str) -> Warning:
    """Costs come in clusters."""
    shown = ", ".join(f"{edge:,.0f}" for edge in edges)
    return Warning(
        "clusters",
        f"Costs come in {len(edges) + 1} clusters, with edges near {shown} {unit}: a quantile near an edge is of another kind of block "
        "on either side, and a spread across one is no noise. Read the ratios block by block.",
        name,
    )


def thin_quantiles(shifts: Sequence[Shift]) -> list[Warning]:
    """Quantiles that rest on few blocks."""
    thin = [f"{one.quantile:.0%}" for one in shifts if one.beyond < FEW_BLOCKS]
    if not thin:
        return []
    return [Warning("thin_quantiles", f"Resting on fewer than {FEW_BLOCKS} blocks: the quantiles {', '.join(thin)}.")]


def few_blocks(
    name: str, baseline: np.ndarray, candidate: np.ndarray, keys: np.ndarray, margin: float
) -> list[Warning]:
    """A difference of sums that comes from few blocks.

    Args:
        name: Of the candidate.
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
    slots = ", ".join(str(key) for key in keys[order[: min(needed, 5)]])
    return [
        Warning(
            "few_blocks",
            f"Half of the difference in the sum comes from {needed} of {differences.size:,} blocks (slot {slots}"
            f"{' and more' if needed > 5 else ''}), which hold {expected[needed - 1]:.1%} of the cost: look at those.",
            name,
        )
    ]


def coarse(metric: str, typical_us: float) -> Warning:
    """Costs near the resolution."""
    return Warning(
        "coarse",
        f"A typical block takes {typical_us:.0f} us, and times are cut to whole microseconds: only sums are compared.",
        metric,
    )


def lacking(name: str, metric: str) -> Warning:
    """A metric that not all runs of a pair of sides have."""
    return Warning("lacking", f"'{metric}' is not compared: not all of its runs and the baseline's have it.", name)


def not_interleaved(name: str) -> Warning:
    """Targets that weren't recorded in turns."""
    return Warning(
        "not_interleaved",
        "Nothing says that its processes and the baseline's took turns: the machine's drift between the two is inside the difference. "
        "Record in turns, and say so in the study file.",
        name,
    )


def found_in(name: str, typical: np.ndarray, unit: str) -> list[Warning]:
    """Clusters among a side's costs above 0."""
    above = typical[typical > 0]
    edges = cluster_edges(above) if above.size else []
    return [clusters(name, edges, unit)] if edges else []
