"""Location and spread of values that don't fit in memory: they are read several times, some at a time.

What depends on the order of values alone (centiles, the median) is exactly what :mod:`slotmark.statistics.location` gives. Sums are added up chunk by
chunk, without a loss between chunks.
"""

from collections.abc import Callable, Iterator, Sequence
from math import fsum

import msgspec
import numpy as np

Chunks = Callable[[], Iterator[np.ndarray]]
"""Gives all values, float64 and finite, some at a time; the same ones each time."""

MOST_SORTED = 2_000_000
"""Up to this many values are sorted in memory."""

_DIGITS = 16
_LEVELS = 64 // _DIGITS
_SIZE = 1 << _DIGITS
_SIGN = np.uint64(1 << 63)


class Moments(msgspec.Struct, frozen=True):
    """Moments of values.

    Attributes:
        mean: Their mean.
        trimmed: The mean of those from one place to another, in their order.
        sd: The standard deviation, with n - 1; 0 of one value.
    """

    mean: float
    trimmed: float
    sd: float


def values_at(chunks: Chunks, places: Sequence[int], most_sorted: int = MOST_SORTED) -> dict[int, float]:
    """The values at some places of all values in their order, from 0 on.

    A value's bits are a number in the order of values. Its places are found 16 bits at a time: each pass counts values by their next bits, of those that
    begin as a value that is looked for. When few begin so, they are sorted.

    Args:
        chunks: The values; at least as many as the places need.
        places: Which.
        most_sorted: How many values are few.
    """
    groups = [_Group(0, list(dict.fromkeys(places)))]
    tables: list[np.ndarray] = []  # of each level: the group of the next level by group and bits, or -1
    for level in range(_LEVELS):
        counts = np.zeros(len(groups) * _SIZE, np.int64)
        for chunk in chunks():
            which, keys = _of_groups(_keys(chunk), tables)
            counts += np.bincount(which * _SIZE + _bits(keys, level), minlength=counts.size)
        table = np.full(counts.size, -1, np.int32)
        following: list[_Group] = []
        left = 0
        for number, group in enumerate(groups):
            of_group = counts[number * _SIZE : (number + 1) * _SIZE]
            until = group.below + np.cumsum(of_group)
            for place in group.places:
                bits = int(np.searchsorted(until, place, side="right"))
                at = number * _SIZE + bits
                if table[at] < 0:
                    table[at] = len(following)
                    following.append(_Group(int(until[bits] - of_group[bits]), []))
                    left += int(of_group[bits])
                following[table[at]].places.append(place)
        tables.append(table)
        groups = following
        if left <= most_sorted:
            break
    return _sorted(chunks, groups, tables)


def moments(chunks: Chunks, count: int, lowest: float, highest: float, cut: int) -> Moments:
    """Mean, trimmed mean and standard deviation.

    Args:
        chunks: The values.
        count: How many.
        lowest: The lowest value that counts for the trimmed mean, the one at the place ``cut``.
        highest: The highest, at the place ``count - cut - 1``.
        cut: How many values are left out at each end.
    """
    mean = fsum(float(chunk.sum()) for chunk in chunks()) / count
    squares, inner, below, above, ends = [], [], 0, 0, [0, 0]
    for chunk in chunks():
        squares.append(float(((chunk - mean) ** 2).sum()))
        between = (chunk > lowest) & (chunk < highest)
        inner.append(float(chunk[between].sum()))
        below += int((chunk < lowest).sum())
        above += int((chunk > highest).sum())
        ends[0] += int((chunk == lowest).sum())
        ends[1] += int((chunk == highest).sum())
    kept = count - 2 * cut
    if lowest == highest:
        trimmed = lowest
    else:
        low, high = ends[0] - (cut - below), ends[1] - (cut - above)
        trimmed = fsum([*inner, low * lowest, high * highest]) / kept
    return Moments(mean, trimmed, float(np.sqrt(fsum(squares) / (count - 1))) if count > 1 else 0.0)


class _Group(msgspec.Struct, frozen=True):
    """Values that begin with the same bits: how many values are below them, and the places that are theirs."""

    below: int
    places: list[int]


def _keys(values: np.ndarray) -> np.ndarray:
    """Whole numbers in the order of the values."""
    bits = values.view(np.int64)
    return (bits ^ ((bits >> 63) & np.int64(0x7FFF_FFFF_FFFF_FFFF))).view(np.uint64) ^ _SIGN


def _values(keys: np.ndarray) -> np.ndarray:
    bits = (keys ^ _SIGN).view(np.int64)
    return (bits ^ ((bits >> 63) & np.int64(0x7FFF_FFFF_FFFF_FFFF))).view(np.float64)


def _bits(keys: np.ndarray, level: int) -> np.ndarray:
    return ((keys >> np.uint64(64 - _DIGITS * (level + 1))) & np.uint64(_SIZE - 1)).astype(np.int64)


def _of_groups(keys: np.ndarray, tables: Sequence[np.ndarray]) -> tuple[np.ndarray, np.ndarray]:
    """The group of each key that is in one, and that key."""
    which = np.zeros(keys.size, np.int64)
    for level, table in enumerate(tables):
        which = table[which * _SIZE + _bits(keys, level)].astype(np.int64)
        there = which >= 0
        if not there.all():
            which, keys = which[there], keys[there]
    return which, keys


def _sorted(chunks: Chunks, groups: Sequence[_Group], tables: Sequence[np.ndarray]) -> dict[int, float]:
    """The values at the places of groups, whose values are few, or all bits of which are known."""
    whole = len(tables) == _LEVELS
    found: list[list[np.ndarray]] = [[] for _ in groups]
    for chunk in chunks():
        which, keys = _of_groups(_keys(chunk), tables)
        if whole:
            which, first = np.unique(which, return_index=True)
            keys = keys[first]
        for number in np.unique(which).tolist():
            if not whole or not found[number]:
                found[number].append(keys[which == number])
        if whole and all(found):
            break
    at: dict[int, float] = {}
    for group, some in zip(groups, found, strict=True):
        keys = np.concatenate(some)
        values = _values(np.sort(keys))
        at |= {place: float(values[0 if whole else place - group.below]) for place in group.places}
    return at
