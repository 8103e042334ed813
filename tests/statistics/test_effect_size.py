"""Rank-biserial correlation, probability of a faster block, and the signed-rank test as R computes it."""

import numpy as np
import pytest
from scipy import stats

from slotmark.statistics.effect_size import faster_probability, rank_biserial
from slotmark.statistics.rank_tests import signed_rank_p
from tests.statistics.reference_data import DEPRESSION, ROUNDING_TIMES

DIFFERENCES = DEPRESSION[0] - DEPRESSION[1]


def test_the_exact_signed_rank_test_of_the_depression_example() -> None:
    assert signed_rank_p(DIFFERENCES, "greater") == pytest.approx(0.01953, abs=5e-6)
    assert signed_rank_p(DIFFERENCES) == pytest.approx(0.03906, abs=5e-6)


def test_rank_biserial_follows_from_the_rank_sums() -> None:
    # V = 40 of 45.
    assert rank_biserial(DIFFERENCES) == pytest.approx((40 - 5) / 45)
    # The example of pingouin's documentation.
    one = np.array([20, 22, 19, 20, 22, 18, 24, 20, 19, 24, 26, 13])
    other = np.array([38, 37, 33, 29, 14, 12, 20, 22, 17, 25, 26, 16])
    assert rank_biserial((one - other).astype(float)) == pytest.approx(-0.378788, abs=1e-6)
    assert rank_biserial(np.zeros(4)) == 0
    assert rank_biserial(np.array([0.0, 1, 2])) == 1


def test_with_ties_and_zeros_it_is_normal_with_corrections_for_ties_and_continuity() -> None:
    differences = np.round(np.random.default_rng(1).normal(0.2, 1, 80), 1)
    kept = differences[differences != 0]
    ranks = stats.rankdata(np.abs(kept))
    n, above = kept.size, ranks[kept > 0].sum()
    _, ties = np.unique(np.abs(kept), return_counts=True)
    spread = np.sqrt(n * (n + 1) * (2 * n + 1) / 24 - (ties**3 - ties).sum() / 48)
    away = above - n * (n + 1) / 4
    expected = 2 * stats.norm.sf(abs((away - np.sign(away) * 0.5) / spread))
    assert signed_rank_p(differences) == pytest.approx(expected, rel=1e-10)
    assert signed_rank_p(np.zeros(5)) == 1


def test_the_pairs_of_rounding_times_as_r_adjusts_them() -> None:
    # pairwise.wilcox.test(paired = TRUE) before Holm: one of the three p-values is the largest and stays as it is.
    assert signed_rank_p(ROUNDING_TIMES[:, 0] - ROUNDING_TIMES[:, 1]) == pytest.approx(0.366521, abs=1e-6)


def test_the_probability_of_a_faster_block_counts_ties_half() -> None:
    assert faster_probability(np.array([-1.0, -2, 3, 0])) == 0.625
    assert faster_probability(np.zeros(3)) == 0.5
