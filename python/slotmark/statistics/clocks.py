"""Offsets of clocks that exchange messages, from the least differences between the times of sending and receiving.

A message takes time: what the receiver's clock shows at its arrival, less what the sender's showed when it left, is the offset
between the two clocks plus a delay that is never negative. The least difference over all messages bounds the offset from one
side, and that of the other direction from the other side. Half-way between the two is the offset if the least delays of both
directions are equal; it is wrong by half their difference. This is how NTP takes offset and root distance (RFC 5905, section 8).
"""

import msgspec
import numpy as np

from slotmark.statistics.distributions import t_ppf

_SHORTEST_NS = 10e6
"""Shorter round trips don't weigh more: by how much their delays differ isn't a matter of their length, but of what hosts do."""

_CONFIDENCE = 0.95
"""The share of clusters in which all estimates are within their errors."""


class Offsets(msgspec.Struct, frozen=True):
    """The offsets of clocks to that of one of them.

    Attributes:
        reference: The clock in the middle, by its number: as many are ahead of it as behind. Where no two clocks have messages in both
            directions, one that has messages; None where there is none.
        offset_ns: By how much each clock is ahead of the reference; nan where it isn't known; shape (clocks,).
        low_ns: What it is at least, whatever the delays were; -inf where nothing bounds it; shape (clocks,).
        high_ns: What it is at most; inf where nothing bounds it; shape (clocks,).
        error_ns: How far the estimate may be off by delays that differ between links and directions: of 100 clusters, in 95 none of the estimates
            is farther off; never more than the farther bound allows. nan where the estimate isn't known, and where no two paths show how much they differ;
            shape (clocks,).
        moved: The clocks that no constant offset fits: they went faster or slower than others, or were set; shape (clocks,), bool.
    """

    reference: int | None
    offset_ns: np.ndarray
    low_ns: np.ndarray
    high_ns: np.ndarray
    error_ns: np.ndarray
    moved: np.ndarray


def made_alike(least_ns: np.ndarray, kinds_ns: np.ndarray) -> np.ndarray:
    """Least differences that don't depend on which kinds of messages a direction has, for estimates; shape (directions,).

    What one kind takes longer than another, as a host takes longer to answer a request than to note a header, would count as a part of the link
    where a pair has the one in one direction only, and the other in the other. It is the median over all directions that have both, and is
    added to the shorter kind.

    Args:
        least_ns: Of all messages, for directions that have none of these kinds; shape (directions,).
        kinds_ns: Of messages of each of two kinds, nan where there are none; shape (directions, 2).
    """
    longer = kinds_ns[:, 1] - kinds_ns[:, 0]
    both = np.isfinite(longer)
    extra = float(np.median(longer[both])) if both.any() else 0.0
    alike = np.fmin(kinds_ns[:, 0] + max(extra, 0.0), kinds_ns[:, 1] + max(-extra, 0.0))
    return np.where(np.isfinite(alike), alike, least_ns)


def clock_offsets(
    clocks: int,
    senders: np.ndarray,
    receivers: np.ndarray,
    least_ns: np.ndarray,
    alike_ns: np.ndarray | None = None,
    known: np.ndarray | None = None,
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
        alike_ns: The same for the estimate, as :func:`made_alike` gives them, nowhere less than ``least_ns``; the same where None.
        known: The clocks that are known to have moved, as :mod:`slotmark.statistics.clock_moves` finds them; shape (clocks,), bool.
    """
    moved = np.zeros(clocks, bool) if known is None else known.copy()
    left = ~(moved[senders] | moved[receivers])
    moved |= _moved(clocks, senders[left], receivers[left], least_ns[left])
    kept = ~(moved[senders] | moved[receivers])
    unknown = np.full(clocks, np.nan)
    nothing = Offsets(None, unknown, np.full(clocks, -np.inf), np.full(clocks, np.inf), unknown, moved)
    if not kept.any():
        return nothing
    edges = senders[kept], receivers[kept]
    lengths, alike = (np.full((clocks, clocks), np.inf) for _ in range(2))
    lengths[edges] = least_ns[kept]
    alike[edges] = (least_ns if alike_ns is None else alike_ns)[kept]
    for of in (lengths, alike):
        np.fill_diagonal(of, 0.0)
    linked = np.zeros(clocks, bool)
    linked[edges[0]] = linked[edges[1]] = True
    largest = _largest_part(lengths < np.inf, linked)
    members = np.flatnonzero(largest)
    shortest, between = _shortest(lengths), _shortest(alike)
    if shortest is None or between is None:
        return msgspec.structs.replace(nothing, moved=moved | largest)
    inside = np.ix_(members, members)
    order = np.argsort(between[inside][0] - between[inside][:, 0], kind="stable")
    place = int(order[(members.size - 1) // 2])
    reference = int(members[place])
    low, high = -shortest[:, reference], shortest[reference]
    offset, error = unknown.copy(), unknown.copy()
    fitted, error[members] = _fitted(alike[inside], between[inside], place)
    offset[members] = np.clip(fitted, low[members], high[members])
    error = np.minimum(error, np.maximum(high - offset, offset - low))
    return Offsets(reference, offset, low, high, error, moved)


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


def _fitted(lengths: np.ndarray, shortest: np.ndarray, reference: int) -> tuple[np.ndarray, np.ndarray]:
    """The offsets that fit all pairs with messages best, in either direction, and how far they may be off; each of shape (clocks,).

    How far a pair is from the fit shows how much delays differ between its two directions, where there are more pairs than offsets.

    Args:
        lengths: The least differences by sender and receiver; from each clock there is a path to each other.
        shortest: The lengths of the shortest paths; shape (clocks, clocks).
        reference: The clock whose offset is 0.
    """
    clocks = len(shortest)
    senders, receivers = np.nonzero(np.triu(np.minimum(lengths, lengths.T) < np.inf, 1))
    ahead = (shortest[senders, receivers] - shortest[receivers, senders]) / 2
    trips = shortest[senders, receivers] + shortest[receivers, senders]
    weights = 1 / np.maximum(trips, _SHORTEST_NS)
    stiffness = np.zeros((clocks, clocks))
    for one, other in ((senders, receivers), (receivers, senders)):
        np.add.at(stiffness, (one, one), weights)
        np.add.at(stiffness, (one, other), -weights)
    pulls = np.bincount(receivers, weights * ahead, clocks) - np.bincount(senders, weights * ahead, clocks)
    free = np.flatnonzero(np.arange(clocks) != reference)
    inverse = np.linalg.inv(stiffness[np.ix_(free, free)])
    fitted, error = np.zeros(clocks), np.full(clocks, np.nan)
    fitted[free] = inverse @ pulls[free]
    more = senders.size - free.size
    if more:
        variance = (weights * (ahead - fitted[receivers] + fitted[senders]) ** 2).sum() / more
        times = float(t_ppf(1 - (1 - _CONFIDENCE) / 2 / free.size, more))
        error[reference], error[free] = 0.0, times * np.sqrt(variance * inverse.diagonal())
    return fitted, error


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
