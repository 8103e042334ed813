"""The mean of values that may resemble the ones before: against matrices, and over many courses whose truth is known."""

import numpy as np
import pytest
from scipy import linalg

from slotmark.statistics.autoregression import CORRELATIONS, course
from tests.compare.planted_courses import autoregressive


@pytest.mark.parametrize("count", [5, 10, 33])
def test_weights_and_errors_are_those_of_the_matrix_of_correlations(count: int) -> None:
    values = np.random.default_rng(count).normal(3, 0.5, count)
    found = course(values)
    logs, errors = [], []
    ones = np.ones(count)
    for correlation in CORRELATIONS:
        matrix = linalg.toeplitz(correlation ** np.arange(count))
        inverse = np.linalg.inv(matrix)
        mean = (ones @ inverse @ values) / (ones @ inverse @ ones)
        squares = (values - mean) @ inverse @ (values - mean)
        density = -np.linalg.slogdet(matrix)[1] - np.log(ones @ inverse @ ones) - (count - 1) * np.log(squares)
        logs.append(density / 2)
        errors.append(np.sqrt(squares / (count - 1) * matrix.sum()) / count)
    weights = np.exp(np.array(logs) - max(logs))
    assert found.weights == pytest.approx(weights / weights.sum())
    assert found.errors == pytest.approx(np.array(errors))


def test_the_p_value_is_five_percent_at_the_end_of_the_interval() -> None:
    found = course(np.random.default_rng(1).normal(0, 1, 10), cut=1)
    for confidence in (0.5, 0.95, 0.98):
        assert found.p(found.reach(confidence)) == pytest.approx(1 - confidence, rel=1e-6)
    assert found.p(0) == pytest.approx(1)


def test_neither_sign_nor_scale_nor_direction_matters_and_thousands_of_values_are_no_trouble() -> None:
    values = autoregressive(0.6)(np.random.default_rng(2), 1, 5_000)[0]
    one = course(values)
    for other in (course(-values), course(7 * values), course(values[::-1])):
        assert other.evidence == pytest.approx(one.evidence, rel=1e-6)
        assert other.weights == pytest.approx(one.weights, abs=1e-6)
    assert one.evidence > 500
    assert abs(CORRELATIONS[one.weights.argmax()] - 0.6) < 0.06


def test_one_value_far_off_neither_hides_nor_feigns_a_course() -> None:
    drifting = np.linspace(-1, 1, 20) + np.random.default_rng(3).normal(0, 0.1, 20)
    turning = np.where(np.arange(20) % 2, 1.0, -1.0) * np.linspace(0.5, 1, 20)
    assert not course(drifting).independent
    assert course(turning).independent
    for values, independent in ((drifting, False), (turning, True)):
        off = values.copy()
        off[6] = 1_000
        assert course(off).independent is independent


def test_of_independent_values_ten_pass_in_half_and_twenty_in_three_quarters_of_cases() -> None:
    for count, least, most in ((10, 0.45, 0.65), (20, 0.7, 0.9)):
        values = np.random.default_rng(count).normal(0, 1, (400, count))
        share = np.mean([course(one, cut=count // 10).independent for one in values])
        assert least <= share <= most, f"{share:.0%}"
