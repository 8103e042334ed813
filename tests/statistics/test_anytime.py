"""Intervals and p-values that hold at all looks together."""

import numpy as np
import pytest

from slotmark.statistics.anytime import FIRST_LOOK, anytime, limit_of_looks
from slotmark.statistics.distributions import t_isf
from slotmark.statistics.interval import BOUNDS

ROUNDS = 60


@pytest.mark.parametrize("count", [2, 4, 7, 30, 400])
@pytest.mark.parametrize("alpha", [0.05, 0.01, 0.002])
def test_p_is_below_alpha_exactly_where_the_interval_excludes_none(count: int, alpha: float) -> None:
    limit = limit_of_looks(alpha, count)
    for t in (0.0, 1.0, 0.999 * limit, 1.001 * limit, 1e6):
        if not np.isfinite(t):
            continue
        found = anytime(0.01 * t, 0.01, count, 1 - alpha)
        assert (found.p < alpha) == (found.interval.low > 0), (t, found)
        turned = anytime(-0.01 * t, 0.01, count, 1 - alpha)
        assert turned.p == found.p
        assert turned.interval.high == -found.interval.low


def test_ends_are_farther_than_those_of_one_look_and_are_there_from_the_first_look_on() -> None:
    for count in range(2, 200):
        once = float(t_isf((1 - BOUNDS) / 2, count - 1.0))
        assert limit_of_looks(1 - BOUNDS, count) > once
    limits = [limit_of_looks(1 - BOUNDS, count) for count in range(2, FIRST_LOOK + 1)]
    assert np.isfinite(limits).tolist() == [*(FIRST_LOOK - 2) * [False], True]
    assert np.isfinite(limit_of_looks(0.01, ROUNDS))


def test_without_any_error_the_estimate_is_alone() -> None:
    same = anytime(0.0, 0.0, 5, 0.99)
    assert same.p == 1
    assert same.bounds.low == same.bounds.high == 0
    assert anytime(0.1, 0.0, 5, 0.99).p == 0


def ever(limits: np.ndarray, draws: np.ndarray) -> float:
    """The share of series that are beyond their limit at any look."""
    count = np.arange(1, draws.shape[1] + 1)
    means = draws.cumsum(axis=1) / count
    errors = np.sqrt(((draws**2).cumsum(axis=1) - count * means**2) / np.maximum(count - 1, 1) / count)
    looks = slice(FIRST_LOOK - 1, None)
    return float((np.abs(means[:, looks]) > limits[looks] * errors[:, looks]).any(axis=1).mean())


def test_looking_after_each_round_finds_a_difference_where_there_is_none_no_more_often_than_it_may() -> None:
    draws = np.random.default_rng(30).standard_normal((4_000, ROUNDS))
    sequence = np.array([np.inf, *(limit_of_looks(0.05, count) for count in range(2, ROUNDS + 1))])
    assert 0.01 < ever(sequence, draws) <= 0.05
    # The control: a test at 5 % after each round.
    naive = np.array([np.inf, *(float(t_isf(0.025, count - 1.0)) for count in range(2, ROUNDS + 1))])
    assert ever(naive, draws) > 0.15
