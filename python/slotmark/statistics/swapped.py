"""Estimates the effect of a treatment on places that had it in some rounds and not in others: effects of a place, of a round and of a unit that all places share cancel.

With the value y of unit u at place h in round r, which had the treatment (x = 1) or not:

    y = unit(u) + place(h) + round(r) + x * effect + deviation(h, r) + noise

Within a round, units go out first: each place keeps one level, with the number of its values. Levels are then fitted by places, rounds and the effect, by least
squares with these weights. A place in a round is what chance is estimated by, since all of a node's values of a round share what its process and its
place had then.
"""

from collections.abc import Sequence

import msgspec
import numpy as np

from slotmark.statistics.student import Student, beyond_rounding, student

LEAST_DEGREES = 2
"""The fewest degrees of freedom that show how much levels deviate."""


class Levels(msgspec.Struct, frozen=True):
    """The level of each place in one round.

    Attributes:
        places: Their numbers; shape (n,).
        values: Their levels, in the metric's unit; shape (n,).
        counts: Number of values of each; shape (n,).
    """

    places: np.ndarray
    values: np.ndarray
    counts: np.ndarray


def levels(values: np.ndarray, places: np.ndarray, units: np.ndarray | None = None) -> Levels:
    """The level of each place: the mean of its values, or where all share units what it adds to them, about the mean of all values.

    Args:
        values: Shape (n,).
        places: The number of each value's place, from 0 on; shape (n,).
        units: The number of each value's unit, from 0 on; None where values share none.
    """
    counts = np.bincount(places).astype(np.float64)
    there = np.flatnonzero(counts)
    sums = np.bincount(places, weights=values)
    if units is None or not values.size:
        return Levels(there, sums[there] / counts[there], counts[there])
    # Normal equations of places, with units taken out: a Laplacian, whose null space is one number for all of them.
    shared = np.zeros((units.max() + 1, counts.size))
    np.add.at(shared, (units, places), 1.0)
    sizes = shared.sum(axis=1)
    of_units = np.bincount(units, weights=values) / np.maximum(sizes, 1.0)
    weighted = shared / np.maximum(sizes, 1.0)[:, np.newaxis]
    left = (np.diag(counts) - shared.T @ weighted)[np.ix_(there, there)]
    right = (sums - shared.T @ of_units)[there]
    found = np.linalg.lstsq(left, right, rcond=None)[0]
    found += float(values.mean()) - float((found * counts[there]).sum() / counts[there].sum())
    return Levels(there, found, counts[there])


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
    number = np.repeat(np.arange(len(rounds)), [one.places.size for one in rounds])
    x = np.concatenate(list(treated)).astype(np.float64)
    y, weights = np.concatenate([one.values for one in rounds]), np.concatenate([one.counts for one in rounds])
    _, which = np.unique(places, return_inverse=True)
    columns = [
        x,
        *(which == place for place in range(which.max() + 1)),
        *(number == one for one in range(1, len(rounds))),
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
    effect, error = beyond_rounding(float(fitted[0]), error, y)
    return Swapped(student(effect, error, degrees, confidence), error, base, float(degrees))
