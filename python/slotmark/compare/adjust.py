"""Adjusting p-values for how many were computed."""

from collections.abc import Sequence

import numpy as np


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
