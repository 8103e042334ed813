"""Finds blocks that changed differently from the median block, from their costs in several processes of two sides.

A typical ratio hides what a few kinds of blocks do: +35 % on a quarter of them moves it by 3 %. Here each block is tested by itself
against the middle of all blocks, with the noise that its cost shows between processes.
"""

import msgspec
import numpy as np

from slotmark.statistics.distributions import t_sf
from slotmark.statistics.moderated import moderated

FALSE_SHARE = 0.05
"""The share of the named blocks that, on average, are named by chance (Benjamini and Hochberg 1995)."""

LEAST_PROCESSES = 3

LEAST_BLOCKS = 10
"""The middle of fewer blocks is not known well enough."""


class ChangedBlocks(msgspec.Struct, frozen=True):
    """Blocks by how they changed.

    Attributes:
        middle: The median log ratio of all blocks.
        ratios: Candidate over baseline of each block; shape (blocks,).
        higher: Which cost more than the middle explains; shape (blocks,), bool.
        lower: Which cost less.
    """

    middle: float
    ratios: np.ndarray
    higher: np.ndarray
    lower: np.ndarray


def changed_blocks(baseline: np.ndarray, candidate: np.ndarray, *, margin: float) -> ChangedBlocks | None:
    """Names the blocks whose ratio is further from the median ratio than a margin, beyond chance.

    A block is named where the test of "within the margin" (McCarthy and Smyth 2009) rejects after Benjamini and Hochberg's adjustment
    over all blocks, and where medians over processes lie beyond the margin too: one disturbed process of three names no block. What a process
    is slower by as a whole is taken out first. At least three processes per side are needed: two are too often alike by chance.

    Args:
        baseline: Shape (processes, blocks), all above 0.
        candidate: The same blocks.
        margin: Margin of a ratio, as a fraction.

    Returns:
        None with fewer processes or blocks than are needed.
    """
    if min(len(baseline), len(candidate)) < LEAST_PROCESSES or baseline.shape[1] < LEAST_BLOCKS:
        return None
    logs = [_levelled(np.log(side)) for side in (baseline, candidate)]
    ratios = logs[1].mean(axis=0) - logs[0].mean(axis=0)
    middle = float(np.median(ratios))
    away = ratios - middle
    by_medians = np.median(logs[1], axis=0) - np.median(logs[0], axis=0)
    by_medians -= np.median(by_medians)
    least = float(np.log1p(margin))
    error, degrees = _errors(logs)
    named = (
        np.abs(away) > least if error is None else adjusted(_beyond(np.abs(away), error, degrees, least)) <= FALSE_SHARE
    )
    # Rounding of equal costs is no difference.
    beyond = max(least, 1e-9)
    return ChangedBlocks(
        middle,
        np.exp(ratios),
        named & (away > beyond) & (by_medians > beyond),
        named & (away < -beyond) & (by_medians < -beyond),
    )


def adjusted(p: np.ndarray) -> np.ndarray:
    """p-values adjusted by Benjamini and Hochberg: the least false share at which each is rejected."""
    order = np.argsort(-p, kind="stable")
    ranked = np.minimum.accumulate(p[order] * p.size / np.arange(p.size, 0, -1))
    found = np.empty_like(p)
    found[order] = np.minimum(ranked, 1.0)
    return found


def _levelled(logs: np.ndarray) -> np.ndarray:
    """Log costs without what each process is slower or faster by as a whole: the median over blocks of its distance from its side's mean."""
    away = logs - logs.mean(axis=0)
    levels = np.median(away, axis=1, keepdims=True)
    return logs - levels + levels.mean()


def _errors(logs: list[np.ndarray]) -> tuple[np.ndarray | None, np.ndarray]:
    """Standard errors of the blocks' log ratios and their degrees of freedom, as Welch adds them up; no errors where all processes agree.

    Each side has noise of its own: a pause that hit two of three processes must not pass for the noise of ten on the other side.
    """
    parts: list[tuple[np.ndarray, float]] = []
    for log in logs:
        variances = log.var(axis=0, ddof=1)
        if variances.max() > 0:
            noise = moderated(variances, len(log) - 1.0)
            parts.append((noise.variances / len(log), noise.degrees))
    if not parts:
        return None, np.empty(0)
    whole = np.sum([part for part, _ in parts], axis=0)
    return np.sqrt(whole), whole**2 / np.sum([part**2 / degrees for part, degrees in parts], axis=0)


def _beyond(away: np.ndarray, error: np.ndarray, degrees: np.ndarray, least: float) -> np.ndarray:
    """p-values of distances no larger than the least, two-sided."""
    return np.minimum(1.0, t_sf((away - least) / error, degrees) + t_sf((away + least) / error, degrees))
