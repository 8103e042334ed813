"""The studentised bootstrap: location and error by hand, and what must always hold."""

from random import Random

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from scipy import stats

from slotmark.statistics.resampling import location, studentised, trimmed_count

values = st.lists(st.floats(-3, 3), min_size=2, max_size=25).map(np.array)


def run(*groups: np.ndarray, seed: int = 1, repetitions: int = 500) -> tuple[float, float, float, float]:
    found = studentised(groups, confidence=0.95, repetitions=repetitions, seed=[seed])
    return found.interval.estimate, found.interval.low, found.interval.high, found.p


def test_how_many_are_left_out() -> None:
    assert [trimmed_count(n) for n in (2, 5, 7, 8, 10, 19, 20, 35)] == [0, 0, 0, 1, 1, 1, 2, 3]


def test_location_and_error_of_a_few_are_mean_and_standard_error() -> None:
    # 1 2 6: mean 3, variance (4 + 1 + 9) / 2 = 7, error sqrt(7 / 3).
    found = location([np.array([6.0, 1.0, 2.0])])
    assert found.estimate == pytest.approx(3)
    assert found.error == pytest.approx((7 / 3) ** 0.5)


def test_location_and_error_of_many_are_trimmed_and_winsorised() -> None:
    # 0 1 2 3 4 5 6 100: without the ends 21/6 = 3.5. Winsorised 1 1 2 3 4 5 6 6: mean 3.5, squares
    # 2*6.25 + 2.25 + .25 + .25 + 2.25 + 2*6.25 = 30, variance 30/7; error sqrt(30/7/8) / (1 - 2/8).
    found = location([np.array([100.0, 0, 1, 2, 3, 4, 5, 6])])
    assert found.estimate == pytest.approx(3.5)
    assert found.error == pytest.approx((30 / 7 / 8) ** 0.5 / 0.75)


def test_location_of_two_groups_is_the_sum() -> None:
    found = location([np.array([1.0, 2, 6]), np.array([-1.0, -3])])
    assert found.estimate == pytest.approx(3 - 2)
    assert found.error == pytest.approx((7 / 3 + 2 / 2) ** 0.5)


def test_of_many_normal_values_it_is_students_t() -> None:
    drawn = np.random.default_rng(3).normal(0.1, 1, 200)
    found = location([drawn])
    degrees = 200 - 2 * trimmed_count(200) - 1
    _, low, high, p = run(drawn, repetitions=40_000)
    reach = stats.t.ppf(0.975, degrees) * found.error
    assert (low, high) == pytest.approx((found.estimate - reach, found.estimate + reach), abs=float(0.05 * reach))
    assert p == pytest.approx(2 * stats.t.sf(abs(found.estimate) / found.error, degrees), abs=0.02)


def test_p_is_never_zero_and_small_for_what_is_plain_at_five_values() -> None:
    # Five log ratios near .5 with a spread of .01: the plain bootstrap could not go below 1/625 here.
    assert run(np.array([0.49, 0.5, 0.51, 0.5, 0.495]), repetitions=9_999)[3] == pytest.approx(1 / 10_000)


def test_without_spread_the_interval_is_a_point() -> None:
    assert run(np.full(6, 0.3)) == pytest.approx((0.3, 0.3, 0.3, 1 / 501))
    # The mean of three equal numbers isn't always that number.
    assert run(np.full(3, 1.34345831)) == pytest.approx((1.34345831, 1.34345831, 1.34345831, 1 / 501))
    assert run(np.zeros(6)) == (0, 0, 0, 1)


@settings(max_examples=60, deadline=None)
@given(values, st.randoms())
def test_the_order_of_values_does_not_matter(one: np.ndarray, random: Random) -> None:
    shuffled = list(one)
    random.shuffle(shuffled)
    assert run(one) == run(np.array(shuffled))


@settings(max_examples=60, deadline=None)
@given(values, values)
def test_negating_negates(one: np.ndarray, other: np.ndarray) -> None:
    estimate, low, high, p = run(one, -other)
    assume(abs(estimate) > 1e-12)
    assert run(other, -one) == (-estimate, -high, -low, p)


@settings(max_examples=60, deadline=None)
@given(values)
def test_the_interval_holds_the_estimate_and_agrees_with_p(one: np.ndarray) -> None:
    estimate, low, high, p = run(one, repetitions=999)
    assert low <= estimate <= high
    # One bootstrap gives both: the interval excludes 0 where p is below .05, but for one draw in the quantile.
    if p < 0.05 - 2 / 1000:
        assert low > 0 or high < 0
    if p > 0.05 + 2 / 1000:
        assert low <= 0 <= high


def test_the_seed_decides() -> None:
    drawn = np.random.default_rng(4).normal(0, 1, 10)
    assert run(drawn, seed=7) == run(drawn, seed=7)
    assert run(drawn, seed=7) != run(drawn, seed=8)


def test_memory_is_bounded_by_drawing_some_at_a_time() -> None:
    # 100,000 values are more than half a million draws' worth at a time: several portions, same result twice.
    drawn = np.random.default_rng(5).normal(0, 1, 100_000)
    estimate, low, high, _ = run(drawn, repetitions=60)
    assert low < estimate < high
    assert high - low == pytest.approx(2 * 1.96 / 100_000**0.5, rel=0.35)
