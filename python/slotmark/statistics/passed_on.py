"""Estimates the effect of a treatment on places that pass units on to each other, and that had it in some rounds and not in others.

A place has a unit from its origin, the place that made it, or from another that had it before. With y the time at which it has it:

    straight from the origin o:  y(u, h) = unit(u) + link(o, h) + level(h, r) + noise
    from another place s:        y(u, h) - y(u, s) = link(s, h) + sender(s, r) + level(h, r) + noise
    level(h, r) = x * effect + deviation(h, r)

Links are the same in all rounds. What a sender adds to all that it sends in a round, late or not, is its own affair, and no level of the places that it sent to. Units, links and senders are
taken out by least squares; what is left of levels has a variance by noise, which values within a round show, and one by deviations (a process and its place in a round), which levels show
(Paule and Mandel 1982, with the error of Hartung and Knapp 2001). Contrasts that nothing shows, as between two halves of a network of which none ever waits for the same as the other, count for nothing.
"""

from collections.abc import Sequence

import msgspec
import numpy as np
import scipy

from slotmark.statistics.student import rounding_of, student
from slotmark.statistics.swapped import LEAST_DEGREES, Swapped

UNKNOWN = -1
"""In the place of a sender: nothing tells where the unit came from."""

_SMALL = 1e-7
"""Contrasts whose information is a smaller part of the largest are not shown."""


class PassedOn(msgspec.Struct, frozen=True):
    """The values of a round. A value per unit and place, but for the places that made units.

    Attributes:
        values: When places had units; shape (n,).
        places: Their numbers, from 0 on; shape (n,).
        units: The number of each value's unit, from 0 on; shape (n,).
        senders: The place that each was from, or :data:`UNKNOWN`; shape (n,).
        origins: The place that made each value's unit; shape (n,).
        treated: Whether a place had the treatment, by its number; shape (places,).
    """

    values: np.ndarray
    places: np.ndarray
    units: np.ndarray
    senders: np.ndarray
    origins: np.ndarray
    treated: np.ndarray


class _Equations(msgspec.Struct, frozen=True):
    """Normal equations with units taken out.

    Attributes:
        left: Products of columns: levels of all rounds, then senders of all rounds, then links; shape (k, k).
        right: Products of columns and values; shape (k,).
        squares: Sum of the squares of values.
        freedom: Number of values less units.
    """

    left: np.ndarray
    right: np.ndarray
    squares: float
    freedom: int


def swapped_on_the_way(rounds: Sequence[PassedOn], confidence: float) -> Swapped | None:
    """The effect of the treatment on a place itself; None where too few contrasts show it, or nothing was swapped.

    Args:
        rounds: All with the same places, one or more.
        confidence: Confidence of the interval, as a fraction.
    """
    count = rounds[0].treated.size
    levels = count * len(rounds)
    sums = _equations(rounds, count)
    # What is left of the information on levels once senders and links are fitted.
    beside = np.linalg.pinv(sums.left[levels:, levels:], rcond=_SMALL, hermitian=True)
    across = sums.left[:levels, levels:] @ beside
    information = sums.left[:levels, :levels] - across @ sums.left[levels:, :levels]
    weights, contrasts = np.linalg.eigh((information + information.T) / 2)
    shown = weights > _SMALL * max(float(weights[-1]), 1.0)
    weights, contrasts = weights[shown], contrasts[:, shown]
    seen = contrasts.T @ (sums.right[:levels] - across @ sums.right[levels:]) / weights
    x = contrasts.T @ np.concatenate([one.treated for one in rounds]).astype(np.float64)
    degrees = weights.size - 1
    if degrees < LEAST_DEGREES or float(x @ x) < _SMALL:
        return None
    fitted = float(seen**2 @ weights) + float(sums.right[levels:] @ beside @ sums.right[levels:])
    left_over = sums.freedom - weights.size - int(np.linalg.matrix_rank(sums.left[levels:, levels:], hermitian=True))
    values = np.concatenate([one.values for one in rounds])
    rounding = rounding_of(values)
    noise = max((sums.squares - fitted) / left_over, 0.0) if left_over > 0 else 0.0
    own = noise / weights + rounding**2
    shares = 1 / (own + _deviations(seen, x, own))
    effect = float((shares * x) @ seen / ((shares * x) @ x))
    # With no deviations to be seen, contrasts may lie closer to the effect than their noise has it: the error is theirs (Hartung and Knapp 2001).
    error = float(np.sqrt(shares @ (seen - effect * x) ** 2 / degrees / ((shares * x) @ x)))
    treated = np.concatenate([one.treated[one.places] for one in rounds])
    base = float(values.mean()) - effect * float(treated.mean())
    effect = effect if abs(effect) > rounding else 0.0
    error = error if error > 10 * rounding else 0.0
    return Swapped(student(effect, error, degrees, confidence), error, base, float(degrees))


def _deviations(seen: np.ndarray, x: np.ndarray, own: np.ndarray) -> float:
    """The variance of deviations with which contrasts are as far from the effect as they should be; 0 where their own variances explain them."""

    def excess(variance: float) -> float:
        shares = 1 / (own + variance)
        effect = (shares * x) @ seen / ((shares * x) @ x)
        return float(shares @ (seen - effect * x) ** 2) - (seen.size - 1)

    most = float(seen @ seen) / (seen.size - 1)
    if excess(0.0) <= 0 or excess(most) >= 0:
        return 0.0
    return float(scipy.optimize.brentq(excess, 0.0, most, xtol=1e-6 * most))  # pyright: ignore[reportArgumentType] - without full_output it is a number


def _equations(rounds: Sequence[PassedOn], count: int) -> _Equations:
    """The normal equations of levels, senders and links, with units taken out."""
    size = count * len(rounds)
    left = scipy.sparse.csr_array((2 * size + count**2, 2 * size + count**2))
    right = np.zeros(2 * size + count**2)
    squares, freedom = 0.0, 0
    for number, one in enumerate(rounds):
        straight = one.senders == one.origins
        values = np.where(straight, one.values, _since_sent(one, count))
        known = np.isfinite(values)
        values, straight, places, senders = values[known], straight[known], one.places[known], one.senders[known]
        rows = np.arange(values.size)
        passed = ~straight
        ones = [
            (rows, number * count + places),
            (rows[passed], size + number * count + senders[passed]),
            (rows, 2 * size + senders * count + places),
        ]
        at, columns = (np.concatenate(one) for one in zip(*ones, strict=True))
        design = scipy.sparse.csr_array((np.ones(at.size), (at, columns)), shape=(values.size, right.size))
        units, numbers = np.unique(one.units[known][straight], return_inverse=True)
        share = scipy.sparse.csr_array(
            (np.ones(numbers.size), (numbers, rows[straight])), shape=(units.size, values.size)
        )
        roots = scipy.sparse.diags_array(1 / np.sqrt(np.bincount(numbers, minlength=units.size)))
        of_units, of_values = roots @ (share @ design), roots @ (share @ values)
        left = left + design.T @ design - of_units.T @ of_units
        right += design.T @ values - of_units.T @ of_values
        squares += float(values @ values - of_values @ of_values)
        freedom += values.size - units.size
    there = np.flatnonzero((np.arange(right.size) < size) | (left.diagonal() > _SMALL))
    return _Equations(left[there][:, there].toarray(), right[there], squares, freedom)


def _since_sent(one: PassedOn, count: int) -> np.ndarray:
    """Values counted from that of the sender in the same unit; NaN where that isn't there."""
    table = np.full((int(one.units.max(initial=0)) + 1, count), np.nan)
    table[one.units, one.places] = one.values
    return np.where(one.senders == UNKNOWN, np.nan, one.values - table[one.units, one.senders])
