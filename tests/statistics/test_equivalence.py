"""Equivalence: two one-sided tests, against statsmodels and by what they must say."""

import numpy as np
import pytest
from statsmodels.stats.weightstats import ttost_paired

from slotmark.statistics.equivalence import tost


def tost_paired(differences: np.ndarray, margin: float) -> float:
    n = differences.size
    return tost(float(differences.mean()), float(differences.std(ddof=1)) / np.sqrt(n), n - 1, margin)


@pytest.mark.parametrize("shift", [0.0, 0.004, -0.009, 0.03])
def test_is_what_statsmodels_gives(shift: float) -> None:
    differences = np.random.default_rng(1).normal(shift, 0.02, 40)
    expected = ttost_paired(differences, np.zeros(40), -0.01, 0.01)[0]
    assert tost_paired(differences, 0.01) == pytest.approx(expected)


def test_a_difference_as_large_as_the_margin_is_called_equivalent_one_time_in_twenty() -> None:
    draws = np.random.default_rng(3)
    said = [tost_paired(draws.normal(0.01, 0.02, 30), 0.01) < 0.05 for _ in range(2_000)]
    assert np.mean(said) <= 0.065


def test_without_any_spread_the_estimate_alone_decides() -> None:
    assert tost(0.005, 0, 4, 0.01) == 0
    assert tost(-0.01, 0, 4, 0.01) == 1
