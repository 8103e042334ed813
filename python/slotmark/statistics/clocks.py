"""Offsets of clocks that exchange messages, from the least differences between the times of sending and receiving.

A message takes time: what the receiver's clock shows at its arrival, less what the sender's showed when it left, is the offset
between the two clocks plus a delay that is never negative. The least difference over all messages bounds the offset from one
side, and that of the other direction from the other side. Half-way between the two is the offset if the least delays of both
directions are equal; it is wrong by half their difference. This is how NTP takes offset and root distance (RFC 5905, section 8).
"""

import msgspec
import numpy as np

_SHORTEST_NS = 1e3
"""Shorter round trips don't weigh more: a pair without any would decide alone."""


class Offsets(msgspec.Struct, frozen=True):
    """The offsets of clocks to that of one of them.

    Attributes:
        reference: The clock in the middle, by its number: as many are ahead of it as behind. Where no two clocks have messages in both
            directions, one that has messages; None where there is none.
        offset_ns: By how much each clock is ahead of the reference; nan where it isn't known; shape (clocks,).
        low_ns: What it is at least, whatever the delays were; -inf where nothing bounds it; shape (clocks,).
        high_ns: What it is at most; inf where nothing bounds it; shape (clocks,).
        moved: The clocks that no constant offset fits: they went faster or slower than others, or were set; shape (clocks,), bool.
    """

    reference: int | None
    offset_ns: np.ndarray
    low_ns: np.ndarray
    high_ns: np.ndarray
    moved: np.ndarray


def clock_offsets(
    clocks: int, senders: np.ndarray, receivers: np.ndarray, least_ns: np.ndarray, known: np.ndarray | None = None
) -> Offsets:
    """The offsets of clocks from the least differences between them, over the graph of all pairs.

    Bounds add up along paths: the shortest paths from and to the reference, with the least differences as lengths, are the closest.

    Each pair with messages gives the difference of its two clocks: half-way between the bounds that the shortest paths give it, wrong by half the
    difference between the two delays. The estimate fits all pairs at once by least squares, weighted by the inverse of their round trips, so
    that errors of many paths are averaged and don't add up along one. It is kept within the bounds.

    Where the two differences of a pair add up to less than nothing, no constant offset explains both: the clocks that are in most of such
    pairs are left out, one after another, until there is none.

    Args:
        clocks: Number of clocks.
        senders: The sender's number for each direction that has messages; shape (directions,).
        receivers: The receiver's; shape (directions,). No direction is there twice.
        least_ns: The least difference of the receiver's time of arrival less the sender's time of sending; shape (directions,).
        known: The clocks that are known to have moved, as :mod:`slotmark.statistics.clock_moves` finds them; shape (clocks,), bool.
    """
    moved = np.zeros(clocks, bool) if known is None else known.copy()
    left = ~(moved[senders] | moved[receivers])
    moved |= _moved(clocks, senders[left], receivers[left], least_ns[left])
    kept = ~(moved[senders] | moved[receivers])
    nothing = Offsets(None, np.full(clocks, np.nan), np.full(clocks, -np.inf), np.full(clocks, np.inf), moved)
    if not kept.any():
        return nothing
    edges = senders[kept], receivers[kept]
    lengths = np.full((clocks, clocks), np.inf)
    lengths[edges] = least_ns[kept]
    np.fill_diagonal(lengths, 0.0)
    linked = np.zeros(clocks, bool)
    linked[edges[0]] = linked[edges[1]] = True
    largest = _largest_part(lengths < np.inf, linked)
    members = np.flatnonzero(largest)
    shortest = _shortest(lengths)
    if shortest is None:
        return msgspec.structs.replace(nothing, moved=moved | largest)
    inside = np.ix_(members, members)
    order = np.argsort(shortest[inside][0] - shortest[inside][:, 0], kind="stable")
    place = int(order[(members.size - 1) // 2])
    reference = int(members[place])
    low, high = -shortest[:, reference], shortest[reference]
    offset = np.full(clocks, np.nan)
    offset[members] = np.clip(_fitted(lengths[inside], shortest[inside], place), low[members], high[members])
    return Offsets(reference, offset, low, high, moved)


def _largest_part(edges: np.ndarray, linked: np.ndarray) -> np.ndarray:
    """The largest set of clocks with a path from each to each other; shape (clocks,), bool. ``edges`` is by sender and receiver; clocks that are not linked don't count."""
    paths = edges.copy()
    for middle in range(len(paths)):
        paths |= paths[:, middle, np.newaxis] & paths[middle]
    together = paths & paths.T
    return together[(together & linked).sum(axis=1).argmax()]


def _shortest(lengths: np.ndarray) -> np.ndarray | None:
    """The lengths of the shortest paths from each clock to each other (Floyd 1962); shape (clocks, clocks). None where a cycle is shorter than nothing.

    NumPy alone: a thousand clocks take two seconds, and loading SciPy's graphs half a second of each command that ends in a run.
    """
    found = lengths.copy()
    for middle in range(len(found)):
        np.minimum(found, found[:, middle, np.newaxis] + found[middle], out=found)
        if found.diagonal().min() < 0:
            return None
    return found


def _fitted(lengths: np.ndarray, shortest: np.ndarray, reference: int) -> np.ndarray:
    """The offsets that fit all pairs with messages best, in either direction; shape (clocks,).

    Args:
        lengths: The least differences by sender and receiver; from each clock there is a path to each other.
        shortest: The lengths of the shortest paths; shape (clocks, clocks).
        reference: The clock whose offset is 0.
    """
    senders, receivers = np.nonzero((lengths < np.inf) & ~np.eye(len(lengths), dtype=bool))
    ahead = (shortest[senders, receivers] - shortest[receivers, senders]) / 2
    trips = shortest[senders, receivers] + shortest[receivers, senders]
    weights = 1 / np.maximum(trips, _SHORTEST_NS)
    clocks = len(shortest)
    stiffness = np.zeros((clocks, clocks))
    for one, other in ((senders, receivers), (receivers, senders)):
        np.add.at(stiffness, (one, one), weights)
        np.add.at(stiffness, (one, other), -weights)
    pulls = np.bincount(receivers, weights * ahead, clocks) - np.bincount(senders, weights * ahead, clocks)
    fitted = np.zeros(clocks)
    free = np.arange(clocks) != reference
    fitted[free] = np.linalg.solve(stiffness[np.ix_(free, free)], pulls[free])
    return fitted


def _moved(clocks: int, senders: np.ndarray, receivers: np.ndarray, least_ns: np.ndarray) -> np.ndarray:
    """The clocks that no constant offset fits; shape (clocks,), bool."""
    least = {(int(a), int(b)): float(ns) for a, b, ns in zip(senders, receivers, least_ns, strict=True)}
    odd = [(a, b) for (a, b), ns in least.items() if a < b and ns + least.get((b, a), np.inf) < 0]
    moved = np.zeros(clocks, bool)
    while odd:
        times = np.bincount(np.array(odd).ravel(), minlength=clocks)
        most = times == times.max()
        moved |= most
        odd = [pair for pair in odd if not most[list(pair)].any()]
    return moved
