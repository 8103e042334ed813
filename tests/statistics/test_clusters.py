"""Clusters of cost are found where there are some, and only there."""

import numpy as np
import pytest
import scipy

from slotmark.statistics.clusters import cluster_edges, peaks


@pytest.mark.parametrize("blocks", [122, 1_000, 100_000])
def test_three_clusters_have_two_edges_between_them(blocks: int) -> None:
    draws = np.random.default_rng(blocks)
    values = draws.choice([12_500.0, 32_000.0, 450_000.0], blocks) * np.exp(draws.normal(0, 0.05, blocks))
    low, high = cluster_edges(values)
    assert 14_000 < low < 28_000
    assert 36_000 < high < 390_000


@pytest.mark.parametrize("spread", [0.0, 0.02, 0.3, 1.0])
def test_one_hump_has_no_edges(spread: float) -> None:
    for seed in range(20):
        assert cluster_edges(np.exp(np.random.default_rng(seed).normal(9, spread, 2_000))) == []


def test_a_few_blocks_far_out_are_no_cluster() -> None:
    values = np.exp(np.random.default_rng(1).normal(9, 0.1, 1_000))
    values[:20] *= 50
    assert cluster_edges(values) == []


def test_peaks_are_those_of_scipy() -> None:
    draws = np.random.default_rng(1)
    for _ in range(500):
        values = draws.integers(0, 4, draws.integers(1, 40)).astype(float)
        assert peaks(values) == scipy.signal.find_peaks(values)[0].tolist()
