"""Equivalence by two one-sided tests (Schuirmann 1987): a difference is within a margin when both ends of it are ruled out."""

import numpy as np
from scipy import stats

from slotmark.metrics.rank_tests import signed_rank_p


def tost(estimate: float, error: float, degrees: float, margin: float) -> float:
    """The p-value of a difference as large as the margin, either way; small where two things are equivalent.

    Args:
        estimate: The difference, as a log ratio.
        error: Its standard error; 0 where nothing varies.
        degrees: Degrees of freedom of that.
        margin: Above 0, on the same scale: log(1.02) for 2 %.
    """
    if error == 0:
        return float(abs(estimate) >= margin)
    return float(
        max(stats.t.sf((estimate + margin) / error, degrees), stats.t.sf((margin - estimate) / error, degrees))
    )


def tost_paired(differences: np.ndarray, margin: float) -> float:
    """:func:`tost` of the mean of at least two paired differences, with Student's t."""
    n = differences.size
    return tost(float(differences.mean()), float(differences.std(ddof=1)) / np.sqrt(n), n - 1, margin)


def tost_signed_rank(differences: np.ndarray, margin: float) -> float:
    """The same by ranks: the larger p-value of the two one-sided signed-rank tests."""
    return max(signed_rank_p(differences + margin, "greater"), signed_rank_p(differences - margin, "less"))
