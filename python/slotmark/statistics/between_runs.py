"""How much the means of runs of one build differ, from all builds that were run more than once."""

from collections.abc import Sequence

import msgspec
import numpy as np


class Spread(msgspec.Struct, frozen=True):
    """A variance of the mean of one run, as a share of its square, with the degrees of freedom of what it is known from."""

    variance: float
    degrees: float


def pooled(sides: Sequence[Sequence[float]]) -> Spread | None:
    """The spread of runs about the mean of their own side, over all sides: builds may differ, and are taken to vary alike.

    Args:
        sides: The means of each side's runs; a side of one run adds nothing.

    Returns:
        None where no side has two runs, or a mean is 0 or below, so that there is no share of it.
    """
    repeated = [np.asarray(side, dtype=np.float64) for side in sides if len(side) > 1]
    if not repeated or min(float(side.min()) for side in repeated) <= 0:
        return None
    degrees = float(sum(side.size - 1 for side in repeated))
    return Spread(sum(float(((side / side.mean() - 1) ** 2).sum()) for side in repeated) / degrees, degrees)
