"""The signed-rank test as R computes it, and Holm's adjustment: what published tables and comparisons both need."""

from collections.abc import Sequence

import numpy as np
import scipy

EXACT_BELOW = 50
"""R's wilcox.test is exact below so many differences, where none are tied or zero."""


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
    return float(found.pvalue)  # pyright: ignore[reportAttributeAccessIssue] - scipy's stub knows no fields


def holm(p: Sequence[float]) -> list[float]:
    """Holm's step-down adjustment, in the order given (Holm 1979): keeps the chance of any false finding among all below alpha.

    The k-th smallest of m p-values is multiplied by m - k + 1; none becomes smaller than one before it, none exceeds 1.
    """
    if not p:
        return []
    values = np.asarray(p, dtype=np.float64)
    order = np.argsort(values, kind="stable")
    stepped = np.maximum.accumulate(values[order] * np.arange(values.size, 0, -1))
    adjusted = np.empty_like(values)
    adjusted[order] = np.minimum(stepped, 1)
    return adjusted.tolist()
