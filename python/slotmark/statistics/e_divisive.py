"""E-divisive with means, made deterministic by Student's t-test, as Hunter has it and Apache Otava after it.

Matteson and James, "A Nonparametric Approach for Multiple Change Point Analysis of Multivariate Data" (2014); Fleming and others, "Hunter: Using Change Point Detection
to Hunt for Performance Regressions" (2023). Numbers are those of Otava 0.8.0, which tests hold it against.
"""

from collections.abc import Sequence
from itertools import pairwise

import msgspec
import numpy as np

from slotmark.statistics.distributions import t_sf

WINDOW = 50
"""Values that are looked at together; windows overlap by half."""

LOOSE, MOST_LOOSE = 10.0, 0.05
"""The factor by which a first look takes larger p-values, for those below the second number."""


class Divided(msgspec.Struct, frozen=True):
    """A change point: the place of the first value of the new level, and the p-value of no difference between the segments beside it."""

    place: int
    p: float


def e_divisive(values: np.ndarray, significance: float = 0.001, window: int = WINDOW) -> list[Divided]:
    """Change points in their order.

    Args:
        values: In their order; shape (n,).
        significance: The largest p-value of a change point.
        window: Values that are looked at together, two or more.
    """
    loose = significance * LOOSE if significance < MOST_LOOSE else min(2 * significance, 1.0)
    places: set[int] = set()
    start = 0
    while start < values.size:
        found = [start + one for one in _in_window(values[start : start + window], loose)]
        places.update(found)
        start = max(max(found, default=0), start + window // 2)
    kept = sorted(places)
    points = [_between(values, kept, number) for number in range(len(kept))]
    while points and (weakest := max(points, key=lambda one: one.p)).p >= significance:
        number = points.index(weakest)
        del kept[number], points[number]
        for beside in (number, number + 1):  # as Otava does: the one before keeps its p-value
            if beside < len(kept):
                points[beside] = _between(values, kept, beside)
    return points


def _in_window(values: np.ndarray, significance: float) -> list[int]:
    """The places where a window is divided, one after the other, until the next isn't significant."""
    apart = np.abs(values[:, None] - values[None, :])
    places: list[int] = []
    while True:
        ends = [0, *places, values.size]
        segments = [(start, end) for start, end in pairwise(ends) if end - start > 1]
        if not segments:
            return places
        best = max((_farthest(apart[start:end, start:end], start) for start, end in segments), key=lambda one: one[0])
        place = best[1]
        start, end = max(one for one in ends if one < place), min(one for one in ends if one > place)
        if _p(values[start:place], values[place:end]) > significance:
            return places
        places = sorted([*places, place])


def _farthest(apart: np.ndarray, start: int) -> tuple[float, int]:
    """The largest distance between two neighbouring stretches from the beginning on, and the place between them."""
    n = len(apart)
    upper = np.triu(apart, k=1)
    down = np.concatenate([[0.0], np.cumsum(upper.sum(axis=0)[1:])])  # of pairs before a place, by place
    along = np.cumsum(upper, axis=1)[:-1, 1:]
    before = np.arange(1, n)[:, None]
    until = np.arange(2, n + 1)[None, :]
    inside = until > before
    pairs_before = down[:-1][:, None]
    across = np.cumsum(along, axis=0) - pairs_before
    after = np.zeros_like(along)
    after[:-1] = np.flipud(np.cumsum(np.flipud(along[1:]), axis=0))
    with np.errstate(divide="ignore", invalid="ignore"):
        ours = np.where(before > 1, 2 * (until - before) / until / (before - 1) * pairs_before, 0.0)
        theirs = np.where(until - before > 1, 2 * before / until / (until - before - 1) * after, 0.0)
    distance = np.where(inside, 2 / until * across - ours - theirs, 0.0)
    best = int(np.argmax(distance))
    row, column = divmod(best, distance.shape[1])
    return float(distance[row, column]), start + row + 1


def _between(values: np.ndarray, places: Sequence[int], number: int) -> Divided:
    ends = [0, *places, values.size]
    return Divided(
        places[number], _p(values[ends[number] : ends[number + 1]], values[ends[number + 1] : ends[number + 2]])
    )


def _p(left: np.ndarray, right: np.ndarray) -> float:
    """Student's p-value of equal means; with standard deviations over n, as Otava has them."""
    degrees = left.size + right.size - 2
    if degrees < 1:
        return 1.0
    squares = (left.size - 1) * float(left.var()) + (right.size - 1) * float(right.var())
    error = np.sqrt(squares / degrees * (1 / left.size + 1 / right.size))
    apart = abs(float(left.mean() - right.mean()))
    if error == 0:
        return float(apart == 0)
    return float(2 * t_sf(apart / error, degrees))
