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
"""The number of deviations, more than the span of the others' courses, from which on a clock moved; and of those that chance makes."""

LEAST_STRETCHES = 3
"""The fewest stretches from which a clock's course is known."""


class Least(msgspec.Struct, frozen=True):
    """The least differences between what the receiver's clock showed at an arrival and the sender's at the sending; one entry per kind of message, direction and stretch.

    Attributes:
        kinds: The message's kind, by its number. Each kind is compared with itself, for one may take longer than another.
        senders: The sender's number.
        receivers: The receiver's.
        stretches: Which stretch of the run, from 0.
        least_ns: The least difference there.
        next_ns: By how much the next one is larger: about as much as chance moves the least.
    """

    kinds: np.ndarray
    senders: np.ndarray
    receivers: np.ndarray
    stretches: np.ndarray
    least_ns: np.ndarray
    next_ns: np.ndarray


class Courses(msgspec.Struct, frozen=True):
    """By how much each clock moved against most others, by stretch; nan where its peers don't show it. Each of shape (clocks, stretches), ns.

    Attributes:
        ahead_ns: By all messages; 0 in the middle.
        received_ns: By those that its host received, which are later where it is slow with them.
        sent_ns: By those that it sent, which are later, so that this is lower, where it or its way out is slow.
    """

    ahead_ns: np.ndarray
    received_ns: np.ndarray
    sent_ns: np.ndarray

    def is_a_clock(self, limit_ns: float) -> np.ndarray:
        """Returns which courses aren't delays alone; shape (clocks,), bool.

        Delays make messages later than in most stretches, not earlier, and don't change those of both ways alike. A clock that moved is seen in both ways,
        but where it was set for a part of a stretch only in messages that seem earlier.

        Args:
            limit_ns: Changes of less don't matter.
        """
        both = np.isfinite(self.received_ns) & np.isfinite(self.sent_ns)
        received, sent = (np.where(both, way, np.nan) for way in (self.received_ns, self.sent_ns))
        received, sent = (way - _middle(way, 1)[:, np.newaxis] for way in (received, sent))
        alike = np.where(received * sent > 0, np.sign(received) * np.minimum(abs(received), abs(sent)), 0.0)
        earlier = np.maximum(
            *(np.nanmax(_below_most(way), axis=1, initial=0.0) for way in (self.received_ns, -self.sent_ns))
        )
        return (np.ptp(alike, axis=1) > limit_ns / 2) | (earlier > limit_ns)


def courses(clocks: int, stretches: int, least: Least) -> Courses:
    """By how much each clock moved against most others, by stretch.

    Args:
        clocks: Number of clocks.
        stretches: Number of stretches.
        least: The least differences.
    """
    # By stretch and direction: a host has few peers, and a table of all pairs of 1,000 hosts has a gigabyte.
    ends = np.stack([least.senders, least.receivers, least.kinds])
    (senders, receivers, _), directions = np.unique(ends, axis=1, return_inverse=True)
    table = np.full((stretches, len(senders)), np.nan)
    table[least.stretches, directions.ravel()] = least.least_ns
    table[:, np.isfinite(table).sum(axis=0) < LEAST_STRETCHES] = np.nan
    ahead = table - _middle(table, 0)[np.newaxis]  # of the receiver
    arriving, leaving = _by_end(receivers, clocks), _by_end(senders, clocks)
    changes = np.concatenate([_taken(ahead, arriving), _taken(-ahead, leaving)], axis=1)
    peers = np.concatenate([_taken(senders[np.newaxis], arriving, 0)[0], _taken(receivers[np.newaxis], leaving, 0)[0]])
    moved = np.zeros((stretches, clocks))
    for _ in range(_ROUNDS):
        by_peers = _middle(changes + moved[:, peers], 1)
        moved = np.where(np.isfinite(by_peers), by_peers, 0.0)
        moved -= np.median(moved, axis=1, keepdims=True)
    received, sent = (_middle(way, 1).T for way in np.split(changes + moved[:, peers], [len(arriving)], axis=1))
    moved = np.where(np.isfinite(changes).any(axis=1), moved, np.nan)
    return Courses((moved - _middle(moved, 0)).T, received, sent)


def moved_clocks(found: Courses, least: Least, limit_ns: float) -> np.ndarray:
    """The clocks whose courses span more than a limit, clearly more than those of the others and than chance, and not by delays alone; shape (clocks,), bool.

    Args:
        found: What :func:`courses` gives.
        least: The least differences that it was given.
        limit_ns: Spans of less don't matter.
    """
    enough = np.isfinite(found.ahead_ns).sum(axis=1) >= LEAST_STRETCHES
    if not enough.any():
        return enough
    spans = np.zeros(len(enough))
    spans[enough] = np.nanmax(found.ahead_ns[enough], axis=1) - np.nanmin(found.ahead_ns[enough], axis=1)
    middle = float(np.median(spans[enough]))
    # A host is slow with one block for all its peers at once, so that several peers make chance no smaller.
    chance = np.array(
        [np.median(least.next_ns[(least.senders == one) | (least.receivers == one)]) for one in np.flatnonzero(enough)]
    )
    limits = np.maximum(max(limit_ns, middle + _BEYOND * median_deviation(spans[enough])), _BEYOND * chance)
    enough[enough] = spans[enough] > limits
    return enough & found.is_a_clock(limit_ns)


def _by_end(ends: np.ndarray, clocks: int) -> np.ndarray:
    """The directions that end at each clock, by their numbers, then as many times their count as others have more; shape (most of a clock, clocks)."""
    counts = np.bincount(ends, minlength=clocks)
    first = np.cumsum(counts) - counts
    order = np.append(np.argsort(ends, kind="stable"), len(ends))
    places = np.arange(max(1, counts.max(initial=0)))[:, np.newaxis]
    return order[np.where(places < counts, first + places, len(ends))]


def _taken(values: np.ndarray, directions: np.ndarray, lacking: float = np.nan) -> np.ndarray:
    """Values of directions along the last axis, which :func:`_by_end` gives; another value in the places that are none."""
    return np.concatenate([values, np.full((len(values), 1), lacking, values.dtype)], axis=1)[:, directions]


def _below_most(values: np.ndarray) -> np.ndarray:
    """Returns how far values are below the level that two fifths are at or below; shape (clocks, stretches)."""
    some = np.isfinite(values).any(axis=1, keepdims=True)
    level = np.nanquantile(np.where(some, values, 0.0), 0.4, axis=1, keepdims=True)
    return level - values


def _middle(values: np.ndarray, axis: int) -> np.ndarray:
    """Medians of what is known; nan where nothing is."""
    some = np.isfinite(values).any(axis=axis)
    filled = np.where(np.expand_dims(some, axis), values, 0.0)
    return np.where(some, np.nanmedian(filled, axis=axis), np.nan)
