"""Tests whether values resemble the ones before them: the lag-1 autocorrelation, against that of the same values in all orders."""

from collections.abc import Sequence

import msgspec
import numpy as np


class Serial(msgspec.Struct, frozen=True):
    """The lag-1 autocorrelation of some values, and the one-sided p-value of none."""

    correlation: float
    p: float


def serial(values: np.ndarray, *, repetitions: int, seed: Sequence[int]) -> Serial:
    """Returns how much each value resembles the one before it, tested by putting the values in random orders.

    Free of any distribution: without dependence, every order is as likely. Values that are all equal have a correlation of 0.

    Args:
        values: At least two, in their order.
        repetitions: How many orders.
        seed: Seed of the orders; the same seed gives the same result.
    """
    away = values - values.mean()
    squares = float(away @ away)
    if squares <= 1e-24 * values.size * max(1.0, float(np.abs(values).max()) ** 2):
        return Serial(0.0, 1.0)
    shuffled = np.random.default_rng(list(seed)).permuted(np.tile(away, (repetitions, 1)), axis=1)
    drawn = (shuffled[:, 1:] * shuffled[:, :-1]).sum(axis=1) / squares
    found = float(away[1:] @ away[:-1]) / squares
    return Serial(found, float((drawn >= found - 1e-12).sum() + 1) / (repetitions + 1))
