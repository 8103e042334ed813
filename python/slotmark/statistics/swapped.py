"""Estimates the effect of a treatment on places that had it in some rounds and not in others: effects of a place, of a round and of a unit that all places share cancel.

With the value y of unit u at place h in round r, which had the treatment (x = 1) or not:

    y = unit(u) + place(h) + round(r) + x * effect + deviation(h, r) + noise

Within a round, units go out first: each place keeps one level, with the number of its values. Where places pass a unit on, a place's value counts from that of the
place that it had it from, and what a place adds to those that it sends to goes out with it. Levels are then fitted by places, rounds (in a round by group, where not all places can be held against
each other) and the effect, by least
squares with these weights. A place in a round is what chance is estimated by, since all of a node's values of a round share what its process and its
place had then.
"""

from collections.abc import Sequence

import msgspec
import numpy as np

from slotmark.statistics.student import Student, student

ORIGIN, UNKNOWN = -1, -2
"""In the place of a sender: the unit came from its origin, or nothing tells where it came from."""

LEAST_DEGREES = 2
"""The fewest degrees of freedom that show how much levels deviate."""


class Levels(msgspec.Struct, frozen=True):
    """The level of each place in one round.

    Attributes:
        places: Their numbers; shape (n,).
        values: Their levels, in the metric's unit; shape (n,).
        counts: Number of values of each; shape (n,).
        groups: Number of the group of places whose levels can be held against each other; shape (n,). Between groups nothing tells.
    """

    places: np.ndarray
    values: np.ndarray
    counts: np.ndarray
    groups: np.ndarray


def levels(
    values: np.ndarray, places: np.ndarray, units: np.ndarray | None = None, senders: np.ndarray | None = None
) -> Levels:
    """The level of each place: the mean of its values, or where all share units what it adds to them, about the mean of all values.

    Where places passed units on, a value counts from that of the place that sent the unit, and what a sender adds to all that it sends is fitted beside the
    levels: a place that had its units late from others has no higher level by it. Values that came straight from the unit's origin share the unit.

    Args:
        values: Shape (n,).
        places: The number of each value's place, from 0 on; shape (n,).
        units: The number of each value's unit, from 0 on; None where values share none.
        senders: The place that sent the unit, :data:`ORIGIN` where its origin did, :data:`UNKNOWN` where nothing tells: such a value shows no level; shape (n,). None
            where places pass nothing on.

    Returns:
        Levels of the places that have any value that counts. Places are of one group where shared units and senders connect them; in a network of two halves that only pass units from one to
        the other there are two.
    """
    if units is None or not values.size:
        counts = np.bincount(places).astype(np.float64)
        there = np.flatnonzero(counts)
        means = np.bincount(places, weights=values)[there] / counts[there]
        return Levels(there, means, counts[there], np.zeros(there.size, np.int64))
    mean, size = float(values.mean()), int(places.max()) + 1
    if senders is not None:
        values, senders = _since_sent(values, places, units, senders)
        known = np.isfinite(values)
        values, places, units, senders = values[known], places[known], units[known], senders[known]
        size = max(size, int(senders.max(initial=-1)) + 1)
    sent = np.zeros(values.size, bool) if senders is None else senders >= 0
    counts = np.bincount(places, minlength=size).astype(np.float64)
    # Normal equations of places and senders, with units taken out: a Laplacian, whose null space is one number for each group.
    left, right = np.zeros((2 * size, 2 * size)), np.zeros(2 * size)
    here, straight = np.arange(size), ~sent
    shared = np.zeros((int(units.max(initial=0)) + 1, size))
    np.add.at(shared, (units[straight], places[straight]), 1.0)
    sizes = np.maximum(shared.sum(axis=1), 1.0)
    of_units = np.bincount(units[straight], weights=values[straight], minlength=sizes.size) / sizes
    left[:size, :size] = np.diag(shared.sum(axis=0)) - shared.T @ (shared / sizes[:, np.newaxis])
    right[:size] = np.bincount(places[straight], weights=values[straight], minlength=size) - shared.T @ of_units
    if senders is not None:
        np.add.at(left, (places[sent], size + senders[sent]), 1.0)
        left[size:, :size] = left[:size, size:].T
        left[here, here] += np.bincount(places[sent], minlength=size)
        left[size + here, size + here] = np.bincount(senders[sent], minlength=size)
        right[:size] += np.bincount(places[sent], weights=values[sent], minlength=size)
        right[size:] = np.bincount(senders[sent], weights=values[sent], minlength=size)
    found = np.linalg.lstsq(left, right, rcond=None)[0]
    there = np.flatnonzero(counts)
    groups = np.unique(_connected(left)[there], return_inverse=True)[1]
    sums = np.bincount(groups, weights=counts[there])
    middles = np.bincount(groups, weights=found[there] * counts[there]) / sums
    return Levels(there, found[there] - middles[groups] + mean, counts[there], groups)


def _connected(shares: np.ndarray) -> np.ndarray:
    """For each row of a symmetric matrix the first of those that it is connected with, by entries that aren't 0."""
    reach = (shares != 0) | np.eye(len(shares), dtype=bool)
    for _ in range(len(shares).bit_length()):
        reach = reach.astype(np.float64) @ reach > 0
    return reach.argmax(axis=1)


def _since_sent(
    values: np.ndarray, places: np.ndarray, units: np.ndarray, senders: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Values counted from that of the sender in the same unit, NaN where that isn't there; and the senders."""
    table = np.full((int(units.max()) + 1, int(max(places.max(), senders.max())) + 1), np.nan)
    table[units, places] = values
    sent = senders >= 0
    since = np.where(senders == UNKNOWN, np.nan, values)
    since[sent] -= table[units[sent], senders[sent]]
    return since, senders


class Swapped(msgspec.Struct, frozen=True):
    """The effect of a treatment.

    Attributes:
        found: In the metric's unit, with its interval.
        error: Its standard error.
        base: The mean level without it.
        degrees: Degrees of freedom: levels, less what is fitted.
    """

    found: Student
    error: float
    base: float
    degrees: float


def swapped(rounds: Sequence[Levels], treated: Sequence[np.ndarray], confidence: float) -> Swapped | None:
    """The effect of a treatment that places had in some rounds; None where there are too few levels, or nothing was swapped.

    Args:
        rounds: The levels of each.
        treated: For each round, whether each of its places had the treatment.
        confidence: Confidence of the interval, as a fraction.
    """
    places = np.concatenate([one.places for one in rounds])
    if not places.size:
        return None
    number = np.repeat(np.arange(len(rounds)), [one.places.size for one in rounds])
    groups = np.unique(
        np.column_stack([number, np.concatenate([one.groups for one in rounds])]), axis=0, return_inverse=True
    )[1]
    x = np.concatenate(list(treated)).astype(np.float64)
    y, weights = np.concatenate([one.values for one in rounds]), np.concatenate([one.counts for one in rounds])
    _, which = np.unique(places, return_inverse=True)
    columns = [
        x,
        *(which == place for place in range(which.max() + 1)),
        *(groups == one for one in range(1, groups.max() + 1)),
    ]
    design = np.column_stack(columns).astype(np.float64)
    rank = int(np.linalg.matrix_rank(design))
    degrees = y.size - rank
    if degrees < LEAST_DEGREES or int(np.linalg.matrix_rank(design[:, 1:])) == rank or x.all():
        return None
    root = np.sqrt(weights)
    inverse = np.linalg.pinv(design * root[:, np.newaxis])
    fitted = inverse @ (y * root)
    off = (y - design @ fitted) * root
    error = float(np.sqrt((inverse[0] ** 2).sum() * (off**2).sum() / degrees))
    base = float((y - x * fitted[0]) @ weights / weights.sum())
    rounding = 1e-12 * max(float(np.abs(y).max()), 1e-300)
    effect = float(fitted[0]) if abs(fitted[0]) > rounding else 0.0
    error = error if error > rounding else 0.0
    return Swapped(student(effect, error, degrees, confidence), error, base, float(degrees))
