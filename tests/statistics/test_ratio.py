"""Ratios: by hand, and what must always hold."""

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from slotmark.statistics.ratio import Ratio, paired_ratio, unpaired_ratio
from slotmark.statistics.resampling import studentised
from tests.compare.planted_courses import COURSES

rate = st.floats(1, 1e6)
pairs = st.lists(st.tuples(rate, rate), min_size=2, max_size=15).map(np.array)


def paired(baseline: np.ndarray, candidate: np.ndarray) -> Ratio:
    return paired_ratio(baseline, candidate, confidence=0.95, repetitions=300, seed=[1])


def unpaired(baseline: np.ndarray, candidate: np.ndarray) -> Ratio:
    return unpaired_ratio(baseline, candidate, confidence=0.95, repetitions=300, seed=[1])


def test_of_few_rounds_it_is_the_geometric_mean_of_their_ratios() -> None:
    # Ratios 2, 8, 4: the third root of 64.
    assert paired(np.array([1.0, 1, 2]), np.array([2.0, 8, 8])).interval.estimate == pytest.approx(4)


def test_of_eight_rounds_the_smallest_and_the_largest_ratio_do_not_count() -> None:
    # Ratios 1/100, 2, 2, 2, 8, 8, 8, 5000: six that count, geometric mean sqrt(2 * 8).
    ratios = np.array([8, 2, 5000, 2, 8, 0.01, 8, 2])
    assert paired(np.full(8, 3.0), 3 * ratios).interval.estimate == pytest.approx(4)


def test_unpaired_it_is_the_ratio_of_geometric_means() -> None:
    # sqrt(4 * 9) = 6 over the third root of 1 * 2 * 4 = 2.
    assert unpaired(np.array([1.0, 2, 4]), np.array([4.0, 9])).interval.estimate == pytest.approx(3)


def test_what_is_always_the_same_ratio_has_a_point_for_an_interval() -> None:
    found = paired(np.array([1.0, 2, 3, 4, 5]), np.array([2.0, 4, 6, 8, 10]))
    assert (found.interval.low, found.interval.high) == pytest.approx((2, 2))
    assert found.p == pytest.approx(1 / 301)
    same = paired(np.array([1.1, 2.3, 3.7]), np.array([1.1, 2.3, 3.7]))
    assert (same.interval.low, same.interval.estimate, same.interval.high, same.p) == (1, 1, 1, 1)


@settings(max_examples=50, deadline=None)
@given(pairs, st.floats(1e-3, 1e3))
def test_the_unit_does_not_matter(values: np.ndarray, scale: float) -> None:
    for ratio in (paired, unpaired):
        one, other = ratio(values[:, 0], values[:, 1]), ratio(scale * values[:, 0], scale * values[:, 1])
        assume(abs(np.log(one.interval.estimate)) > 1e-9)
        assert other.interval.estimate == pytest.approx(one.interval.estimate)
        assert np.log([other.interval.low, other.interval.high]) == pytest.approx(
            np.log([one.interval.low, one.interval.high]), rel=1e-4, abs=1e-9
        )


@settings(max_examples=50, deadline=None)
@given(pairs)
def test_swapping_the_sides_gives_the_inverse(values: np.ndarray) -> None:
    for ratio in (paired, unpaired):
        one, other = ratio(values[:, 0], values[:, 1]), ratio(values[:, 1], values[:, 0])
        assume(abs(np.log(one.interval.estimate)) > 1e-9)
        assert np.log([other.interval.estimate, other.interval.low, other.interval.high]) == pytest.approx(
            -np.log([one.interval.estimate, one.interval.high, one.interval.low])
        )
        assert other.p == one.p


@settings(max_examples=30, deadline=None)
@given(pairs, st.randoms(use_true_random=False))
def test_the_order_of_rounds_never_makes_an_interval_narrower_than_that_of_independent_ones(
    values: np.ndarray, random
) -> None:
    order = list(range(len(values)))
    random.shuffle(order)
    one, other = paired(values[:, 0], values[:, 1]), paired(values[order, 0], values[order, 1])
    assert other.interval.estimate == one.interval.estimate
    least = studentised([np.log(values[:, 1]) - np.log(values[:, 0])], confidence=0.95, repetitions=300, seed=[1])
    for found in (one, other):
        assert found.interval.low <= np.exp(least.interval.low)
        assert found.interval.high >= np.exp(least.interval.high)
        assert found.p >= least.p
        assert found.effective is not None
        assert (found.effective == len(values)) == (found.bounds.low == np.exp(least.bounds.low))


def test_ratios_that_resemble_the_ones_before_have_a_wider_interval() -> None:
    draws = np.random.default_rng(7)
    logs = np.sort(draws.normal(0, 0.02, 10))
    drifting, turning = (np.exp(logs[order]) for order in (np.arange(10), [0, 9, 1, 8, 2, 7, 3, 6, 4, 5]))
    wide, narrow = paired(np.ones(10), drifting), paired(np.ones(10), turning)
    assert narrow.effective == 10
    assert wide.effective is not None
    assert wide.effective < 1
    assert np.log(wide.interval.high / wide.interval.low) > 4 * np.log(narrow.interval.high / narrow.interval.low)
    assert wide.p > narrow.p


def test_pairing_takes_the_drift_of_rounds_out() -> None:
    draws = np.random.default_rng(6)
    drift = np.exp(draws.normal(0, 0.3, 20))
    baseline, candidate = 100 * drift, 110 * drift * np.exp(draws.normal(0, 0.005, 20))
    together, apart = paired(baseline, candidate).interval, unpaired(baseline, candidate).interval
    assert together.low > 1.09
    assert together.high < 1.11
    assert apart.low < 1 < apart.high


@pytest.mark.parametrize(
    ("course", "rounds", "least"), [("independent", 20, 0.93), ("AR(1) 0.7", 10, 0.86), ("AR(1) 0.7", 20, 0.9)]
)
def test_unpaired_rounds_that_are_like_the_ones_before_them_have_wider_intervals(
    course: str, rounds: int, least: float
) -> None:
    # Without their order, 63 and 59 in 100 intervals covered the truth at 0.7.
    sides = np.exp(0.02 * COURSES[course](np.random.default_rng([3, rounds]), 600, rounds))
    found = [unpaired(one, other) for one, other in zip(sides[:300], sides[300:], strict=True)]
    assert np.mean([one.interval.low <= 1 <= one.interval.high for one in found]) >= least
    assert all((one.p < 0.05) <= (not one.interval.low <= 1 <= one.interval.high) for one in found)
