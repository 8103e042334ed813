"""The Hodges-Lehmann estimate without all pairs is that of all pairs, and its linear form answers as it does."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from slotmark.statistics.hodges_lehmann import hodges_lehmann, linearised
from tests.statistics.reference_data import DEPRESSION


def of_all_pairs(values: np.ndarray) -> float:
    one, other = np.triu_indices(values.size)
    return float(np.median((values[one] + values[other]) / 2))


SHAPES = {
    "normal": lambda draws, n: draws.normal(size=n),
    "Cauchy": lambda draws, n: draws.standard_cauchy(n),
    "coarse": lambda draws, n: np.round(draws.normal(size=n), 1),
    "whole numbers": lambda draws, n: np.round(draws.normal(size=n)),
    "all equal": lambda _, n: np.full(n, 0.25),
    "two clusters": lambda draws, n: np.concatenate([draws.normal(size=n // 2), draws.normal(20, 1, n - n // 2)]),
    "one far out": lambda draws, n: np.concatenate([draws.normal(size=n - 1), [1e9]]),
}


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("n", [1, 2, 3, 4, 10, 122, 299, 300, 301, 302, 1_000, 2_001])
def test_is_the_median_of_all_walsh_averages(shape: str, n: int) -> None:
    values = SHAPES[shape](np.random.default_rng(n), n)
    assert hodges_lehmann(values) == pytest.approx(of_all_pairs(values), rel=1e-12, abs=1e-12)


@settings(max_examples=200, deadline=None)
@given(st.lists(st.integers(-50, 50), min_size=1, max_size=60))
def test_is_that_of_all_pairs_whatever_is_tied(values: list[int]) -> None:
    assert hodges_lehmann(np.array(values) / 8) == of_all_pairs(np.array(values) / 8)


@settings(max_examples=30, deadline=None)
@given(st.lists(st.integers(-400, 400), min_size=301, max_size=700, unique=True))
def test_is_that_of_all_pairs_beyond_what_is_formed_whole(values: list[int]) -> None:
    assert hodges_lehmann(np.array(values) / 8) == pytest.approx(of_all_pairs(np.array(values) / 8), abs=1e-12)


@settings(max_examples=30, deadline=None)
@given(st.lists(st.floats(-1e3, 1e3), min_size=2, max_size=400), st.floats(-1e3, 1e3))
def test_moves_with_its_values_and_turns_with_them(values: list[float], by: float) -> None:
    given_ = np.array(values)
    assert hodges_lehmann(given_ + by) == pytest.approx(hodges_lehmann(given_) + by, abs=1e-9)
    assert hodges_lehmann(-given_) == pytest.approx(-hodges_lehmann(given_), abs=1e-9)


def test_of_a_hundred_thousand_values_it_lies_where_half_of_all_averages_are_below() -> None:
    values = np.random.default_rng(3).standard_cauchy(100_000)
    found, ordered = hodges_lehmann(values), np.sort(values)
    below = (np.searchsorted(ordered, 2 * found - values, "right").sum() + (values <= found).sum()) // 2
    assert abs(below - values.size * (values.size + 1) / 4) <= 1


def test_the_depression_example() -> None:
    differences = DEPRESSION[0] - DEPRESSION[1]
    # R: wilcox.test(x, y, paired = TRUE, conf.int = TRUE) gives the (pseudo)median 0.46.
    assert hodges_lehmann(differences) == pytest.approx(0.46, abs=0.005)


def test_the_shifts_say_how_the_estimate_answers_to_changed_values() -> None:
    draws = np.random.default_rng(5)
    values, change = draws.normal(0, 0.02, 3_000), draws.normal(0, 1e-4, 3_000)
    change[values > 0.01] += 1e-3
    found = linearised(values)
    moved = hodges_lehmann(values + change) - found.estimate
    assert found.shift.sum() == pytest.approx(1)
    assert change @ found.shift == pytest.approx(moved, rel=0.05)


def test_values_too_coarse_to_vary_have_no_influence() -> None:
    values = np.array([0.0] * 90 + [1.0] * 5 + [-1.0] * 5)
    found = linearised(values)
    assert (found.estimate, float(np.abs(found.influence).max())) == (0.0, 0.0)
