"""Friedman's test and what follows it, against R, scipy and scikit-posthocs on R's own example."""

import numpy as np
import pytest
from scipy import stats

from slotmark.statistics.friedman import friedman, post_hoc
from tests.statistics.reference_data import ROUNDING_TIMES


def test_the_rounding_times_as_in_r() -> None:
    found = friedman(ROUNDING_TIMES)
    assert (found.chi_squared, found.p) == (pytest.approx(11.143, abs=5e-4), pytest.approx(0.003805, abs=5e-7))


def test_is_what_scipy_gives_with_ties() -> None:
    values = np.round(np.random.default_rng(1).normal(size=(40, 5)), 1)
    expected = stats.friedmanchisquare(*values.T)
    found = friedman(values)
    assert (found.chi_squared, found.p) == pytest.approx((expected.statistic, expected.pvalue))


def test_post_hoc_p_values_of_the_rounding_times() -> None:
    pairs = post_hoc(ROUNDING_TIMES)
    assert [(pair.first, pair.second) for pair in pairs] == [(0, 1), (0, 2), (1, 2)]
    # scikit-posthocs 0.17.1: posthoc_nemenyi_friedman, and with Holm posthoc_conover_friedman, posthoc_wilcoxon.
    assert [pair.nemenyi for pair in pairs] == pytest.approx([0.6374, 0.0044, 0.0614], abs=5e-5)
    assert [pair.conover for pair in pairs] == pytest.approx([0.3012, 0.0021, 0.0246], abs=5e-5)
    assert [pair.signed_rank for pair in pairs] == pytest.approx([0.366521, 0.029264, 0.005785], abs=1e-6)


def test_targets_that_are_equal_in_every_block_do_not_differ() -> None:
    found = friedman(np.tile(np.arange(10.0)[:, np.newaxis], (1, 3)))
    assert (found.p, found.mean_ranks) == (1, [2, 2, 2])
    assert all(pair.signed_rank == pair.conover == 1 for pair in post_hoc(np.ones((10, 3))))


def test_finds_three_percent_where_kruskal_wallis_does_not() -> None:
    """Blocks of very different cost: an unpaired test throws away nearly all power (statistics of the 2023 study)."""
    draws = np.random.default_rng(2)
    base = draws.choice([12_500.0, 32_000.0, 450_000.0], 122) * np.exp(draws.normal(0, 0.05, 122))
    values = base[:, np.newaxis] * np.array([1, 1, 0.97]) * np.exp(draws.normal(0, 0.03, (122, 3)))
    assert friedman(values).p < 1e-6
    assert stats.kruskal(*values.T).pvalue > 0.05
