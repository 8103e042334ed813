"""Paired values, candidate less baseline or its logarithm: how one-sided the differences are."""

import numpy as np


def rank_biserial(differences: np.ndarray) -> float:
    """The matched-pairs rank-biserial correlation: the share of rank sums above zero less that below (Kerby 2014).

    From -1 (every difference below 0) to 1; zeros are left out. 0 where all are zero.
    """
    differences = differences[differences != 0]
    if differences.size == 0:
        return 0.0
    _, places, counts = np.unique(np.abs(differences), return_inverse=True, return_counts=True)
    ranks = (np.cumsum(counts) - (counts - 1) / 2)[places]  # equal ones have the middle of theirs
    return float(ranks @ np.sign(differences) / ranks.sum())


def faster_probability(differences: np.ndarray) -> float:
    """The share of differences below zero, zeros counted half: the probability that a block drawn at random is faster."""
    return float((differences < 0).mean() + (differences == 0).mean() / 2)
