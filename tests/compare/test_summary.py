"""Samples in short, by hand."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from slotmark.compare import summarise
from slotmark.compare.summary import KEPT_SAMPLES
from slotmark.statistics.interval import Interval
from slotmark.statistics.location import median_interval, outlying, trimmed_mean


def by_round(*values: float) -> dict[tuple[int | str, ...], float]:
    return {(number,): value for number, value in enumerate(values, start=1)}


def test_every_figure_by_hand() -> None:
    # Sorted 2 4 4 6 9: mean 25/5 = 5; without the ends 14/3; squares 9+1+1+1+16 = 28, variance 28/4 = 7.
    # Median 4; of five samples the interval is the smallest and the largest. MAD: 2 0 0 2 5 -> 2; 3 * 1.4826 * 2 = 8.9.
    found = summarise(by_round(4, 9, 2, 6, 4))
    assert (found.n, found.mean, found.minimum, found.maximum) == (5, 5, 2, 9)
    assert (found.median, found.median_interval) == (4, Interval(4, 2, 9))
    assert found.trimmed_mean == pytest.approx(14 / 3)
    assert found.sd == pytest.approx(7**0.5)
    assert found.outliers == []
    assert found.samples == [((1,), 4), ((2,), 9), ((3,), 2), ((4,), 6), ((5,), 4)]


def test_one_sample_has_no_spread() -> None:
    found = summarise(by_round(3))
    assert (found.sd, found.trimmed_mean, found.median_interval, found.outliers) == (0, 3, Interval(3, 3, 3), [])


def test_equal_samples_have_no_outliers() -> None:
    found = summarise(by_round(*[7.0] * 10))
    assert (found.sd, found.median_interval, found.outliers) == (0, Interval(7, 7, 7), [])


def test_a_tenth_is_trimmed_at_each_end_but_at_least_one() -> None:
    assert trimmed_mean(np.array([1.0, 5.0])) == 3
    assert trimmed_mean(np.array([0.0, 5.0, 100.0])) == 5
    assert trimmed_mean(np.arange(20.0)) == np.arange(2.0, 18.0).mean()


def test_outliers_lie_more_than_three_scaled_mads_from_the_median() -> None:
    # Median 10, distances 1 0 1 0 2 -> MAD 1 with 16 in place of 12: sorted 0 0 1 1 x. Limit 3 * 1.4826 = 4.448.
    assert outlying(np.array([9, 10, 11, 10, 14.44])).tolist() == [False] * 5
    assert outlying(np.array([9, 10, 11, 10, 14.45])).tolist() == [False] * 4 + [True]
    assert summarise(by_round(9, 10, 11, 10, 4)).outliers == [(5,)]


def test_outliers_where_most_samples_are_equal() -> None:
    # MAD 0. One of ten differs: mean distance d/10, limit 3 * 1.2533 * d/10 = .376 d: an outlier.
    assert outlying(np.array([1.0] * 9 + [1.1])).tolist() == [False] * 9 + [True]
    # Four of ten differ: mean distance .4 d, limit 1.5 d: none.
    assert not outlying(np.array([1.0] * 6 + [1.1] * 4)).any()


def test_the_median_of_ten_lies_between_the_second_and_the_third_from_each_end() -> None:
    # P(2nd to 9th) = 1 - 22/1024 = .97852; P(3rd to 8th) = 1 - 112/1024 = .89063 (1, 10, 45 ways of 1024).
    # Step (.97852 - .95) / (.97852 - .89063) = .32444; share 8 * .32444 / (2 + 6 * .32444) = .65763.
    found = median_interval(np.arange(1.0, 11.0), 0.95)
    assert found.estimate == 5.5
    assert found.low == pytest.approx(2 + 0.65763, abs=1e-4)
    assert found.high == pytest.approx(9 - 0.65763, abs=1e-4)


def test_many_samples_are_not_kept_one_by_one() -> None:
    assert len(summarise(by_round(*range(1, KEPT_SAMPLES + 1))).samples) == KEPT_SAMPLES
    found = summarise(by_round(*range(1, KEPT_SAMPLES + 2)))
    assert (found.n, found.samples) == (KEPT_SAMPLES + 1, [])


@given(st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=300), st.sampled_from([0.8, 0.9, 0.95, 0.99]))
def test_the_interval_holds_the_median_and_lies_within_the_samples(values: list[float], confidence: float) -> None:
    found = median_interval(np.array(values), confidence)
    assert min(values) <= found.low <= found.estimate <= found.high <= max(values)
    assert found.estimate == np.median(values)


@given(st.integers(6, 400), st.sampled_from([0.8, 0.9, 0.95, 0.99]))
def test_the_interval_lies_between_the_binomial_ones_around_the_confidence(n: int, confidence: float) -> None:
    found = median_interval(np.arange(1.0, n + 1), confidence)
    outer, inner = int(np.floor(found.low)), int(np.ceil(found.low))
    if outer >= 1 and found.low > 1:
        assert 1 - 2 * stats.binom.cdf(outer - 1, n, 0.5) >= confidence
    if inner <= n // 2 and inner > outer:
        assert 1 - 2 * stats.binom.cdf(inner - 1, n, 0.5) <= confidence
