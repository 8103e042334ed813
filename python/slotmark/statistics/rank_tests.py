"""The signed-rank test as R computes it, and Holm's adjustment: what published tables and comparisons both need."""

from collections.abc import Sequence

import numpy as np
import scipy

FIRST_SHARE = 0.8
"""The part of the error rate that belongs to the tests that decide."""

EXACT_BELOW = 50
"""R's wilcox.test is exact below this many differences, where none are tied or zero."""


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
    found = scipy.stats.wilcoxon(
        kept, zero_method="wilcox", correction=not exact, alternative=alternative, method="exact" if exact else "approx"
    )
    return float(found.pvalue)  # pyright: ignore[reportAttributeAccessIssue] - scipy's stub has no fields


def error_share(tests: int, deciding: int, *, decides: bool) -> float:
    """The part of the error rate that one test has: those that decide share :data:`FIRST_SHARE`, the others the rest.

    All have the same where none decides, or where the deciding ones are so numerous that they would have less than the others.

    Args:
        tests: Number of tests.
        deciding: How many of them decide.
        decides: Whether this one does.
    """
    if not 0 < deciding < FIRST_SHARE * tests:
        return 1 / max(tests, 1)
    return FIRST_SHARE / deciding if decides else (1 - FIRST_SHARE) / (tests - deciding)


def holm(p: Sequence[float], weights: Sequence[float] | None = None) -> list[float]:
    """Holm's step-down adjustment, in the order given (Holm 1979): keeps the chance of any false finding among all below alpha.

    The k-th smallest of m p-values is multiplied by m - k + 1; none becomes smaller than one before it, none exceeds 1. With weights, each
    is divided by its own and multiplied by the sum of those that are left: what weighs more takes more of alpha, and leaves it
    to the others once it is found.

    Args:
        p: The p-values.
        weights: One per p-value, above 0; None where all weigh alike.
    """
    if not p:
        return []
    values = np.asarray(p, dtype=np.float64)
    shares = np.ones_like(values) if weights is None else np.asarray(weights, dtype=np.float64)
    order = np.argsort(values / shares, kind="stable")
    left = np.cumsum(shares[order][::-1])[::-1]
    stepped = np.maximum.accumulate(values[order] / shares[order] * left)
    adjusted = np.empty_like(values)
    adjusted[order] = np.minimum(stepped, 1)
    return adjusted.tolist()
