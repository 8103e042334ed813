"""Paired values, candidate less baseline or its logarithm: how one-sided the differences are, and the signed-rank test."""

import numpy as np
from scipy import stats

EXACT_BELOW = 50
"""R's wilcox.test is exact below so many differences, where none are tied or zero."""


def rank_biserial(differences: np.ndarray) -> float:
    """The matched-pairs rank-biserial correlation: the share of rank sums above zero less that below (Kerby 2014).

    From -1 (every difference below 0) to 1; zeros are left out. 0 where all are zero.
    """
    differences = differences[differences != 0]
    if differences.size == 0:
        return 0.0
    ranks = stats.rankdata(np.abs(differences))
    return float(ranks @ np.sign(differences) / ranks.sum())


def faster_probability(differences: np.ndarray) -> float:
    """The share of differences below zero, zeros counted half: the probability that a block drawn at random is faster."""
    return float((differences < 0).mean() + (differences == 0).mean() / 2)


def signed_rank_p(differences: np.ndarray, alternative: str = "two-sided") -> float:
    """The p-value of R's ``wilcox.test(x, y, paired = TRUE)``; 1 where all differences are zero.

    Zeros are dropped. It is exact below 50 values without ties or zeros, else normal, corrected for ties and continuity.

    Args:
        differences: At least one.
        alternative: ``two-sided``, ``less`` or ``greater``.
    """
    kept = differences[differences != 0]
    if kept.size == 0:
        return 1.0
    exact = kept.size == differences.size < EXACT_BELOW and np.unique(np.abs(kept)).size == kept.size
    found = stats.wilcoxon(
        kept, zero_method="wilcox", correction=not exact, alternative=alternative, method="exact" if exact else "approx"
    )
    return float(found.pvalue)  # pyright: ignore[reportAttributeAccessIssue] - scipy's stub knows no fields
