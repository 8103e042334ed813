"""Clocks that went faster or slower than others, or were set, from the least differences of messages in stretches of a run.

A least difference is the offset between two clocks plus the least delay of the link. Where a link has about the same least delay in each
stretch, what changes is the offset. A pair that changes doesn't show which clock moved: each clock's course is the middle one of those that
its peers give it, so that one clock that moved doesn't move its peers.
"""

import msgspec
import numpy as np

from slotmark.statistics.location import median_deviation

_ROUNDS = 20
"""Passes that compute each clock's course from those of its peers."""

_BEYOND = 6.0
"""The number of deviations, more than the span of the others' courses, from which on a clock moved."""

LEAST_STRETCHES = 3
"""The fewest stretches from which a clock's course is known."""


class Least(msgspec.Struct, frozen=True):
    """The least differences between what the receiver's clock showed at an arrival and the sender's at the sending; one entry per direction and stretch.

    Attributes:
        senders: The sender's number.
        receivers: The receiver's.
        stretches: Which stretch of the run, from 0.
        least_ns: The least difference there.
    """

    senders: np.ndarray
    receivers: np.ndarray
    stretches: np.ndarray
    least_ns: np.ndarray


def courses(clocks: int, stretches: int, least: Least) -> np.ndarray:
    """By how much each clock moved against most others, by stretch; 0 in the middle, nan where its peers don't show it. Shape (clocks, stretches), ns.

    Args:
        clocks: Number of clocks.
        stretches: Number of stretches.
        least: The least differences.
    """
    table = np.full((stretches, clocks, clocks), np.nan)
    table[least.stretches, least.senders, least.receivers] = least.least_ns
    table[:, np.isfinite(table).sum(axis=0) < LEAST_STRETCHES] = np.nan
    ahead = table - _middle(table, 0)[np.newaxis]  # of the receiver
    changes = np.concatenate([ahead, -ahead.transpose(0, 2, 1)], axis=1)
    moved = np.zeros((stretches, clocks))
    for _ in range(_ROUNDS):
        by_peers = _middle(changes + np.tile(moved, 2)[:, :, np.newaxis], 1)
        moved = np.where(np.isfinite(by_peers), by_peers, 0.0)
        moved -= np.median(moved, axis=1, keepdims=True)
    moved = np.where(np.isfinite(changes).any(axis=1), moved, np.nan)
    return (moved - _middle(moved, 0)).T


def moved_clocks(found: np.ndarray, limit_ns: float) -> np.ndarray:
    """The clocks whose courses span more than a limit and clearly more than those of the others; shape (clocks,), bool.

    Args:
        found: What :func:`courses` gives.
        limit_ns: Spans of less don't matter.
    """
    enough = np.isfinite(found).sum(axis=1) >= LEAST_STRETCHES
    if not enough.any():
        return enough
    spans = np.zeros(len(found))
    spans[enough] = np.nanmax(found[enough], axis=1) - np.nanmin(found[enough], axis=1)
    middle = float(np.median(spans[enough]))
    return enough & (spans > max(limit_ns, middle + _BEYOND * median_deviation(spans[enough])))


def _middle(values: np.ndarray, axis: int) -> np.ndarray:
    """Medians of what is known; nan where nothing is."""
    some = np.isfinite(values).any(axis=axis)
    filled = np.where(np.expand_dims(some, axis), values, 0.0)
    return np.where(some, np.nanmedian(filled, axis=axis), np.nan)
