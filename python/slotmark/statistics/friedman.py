"""Three or more targets over the same blocks: Friedman's test, and which pairs differ."""

from itertools import combinations

import msgspec
import numpy as np
import scipy

from slotmark.statistics.rank_tests import holm, signed_rank_p


class Friedman(msgspec.Struct, frozen=True):
    """Friedman's test.

    Attributes:
        chi_squared: With correction for ties; targets - 1 degrees of freedom.
        p: Its p-value.
        mean_ranks: One per target; the smallest value of a block has rank 1.
    """

    chi_squared: float
    p: float
    mean_ranks: list[float]


class Pair(msgspec.Struct, frozen=True):
    """Two targets, by their places, and p-values of their difference.

    Attributes:
        first: Place of one.
        second: Place of the other.
        nemenyi: By mean ranks, adjusted for all pairs by the studentised range (Nemenyi 1963).
        conover: By mean ranks with the spread that is left (Conover 1999), Holm-adjusted over all pairs.
        signed_rank: P-value of the signed-rank test of the paired differences, Holm-adjusted over all pairs.
    """

    first: int
    second: int
    nemenyi: float
    conover: float
    signed_rank: float


def friedman(values: np.ndarray) -> Friedman:
    """Friedman's test of shape (blocks, targets), at least two blocks and three targets."""
    blocks, targets = values.shape
    ranks = scipy.stats.rankdata(values, axis=1)
    sums = ranks.sum(axis=0)
    spread, expected = (ranks**2).sum(), blocks * targets * (targets + 1) ** 2 / 4
    if spread == expected:
        return Friedman(0.0, 1.0, (sums / blocks).tolist())
    chi = float((targets - 1) * ((sums - blocks * (targets + 1) / 2) ** 2).sum() / (spread - expected))
    return Friedman(chi, float(scipy.stats.chi2.sf(chi, targets - 1)), (sums / blocks).tolist())


def post_hoc(values: np.ndarray) -> list[Pair]:
    """Every pair of targets, in order; shape (blocks, targets) as for :func:`friedman`."""
    blocks, targets = values.shape
    ranks = scipy.stats.rankdata(values, axis=1)
    means, chi = ranks.mean(axis=0), friedman(values).chi_squared
    pairs = list(combinations(range(targets), 2))
    signed = holm([signed_rank_p(values[:, one] - values[:, other]) for one, other in pairs])
    nemenyi_error = np.sqrt(targets * (targets + 1) / (6 * blocks))
    spread = (ranks**2).sum() - blocks * targets * (targets + 1) ** 2 / 4
    degrees = (blocks - 1) * (targets - 1)
    conover_error = np.sqrt(2 * spread * (1 - chi / (blocks * (targets - 1))) / degrees / blocks)
    apart = [float(abs(means[one] - means[other])) for one, other in pairs]
    nemenyi = [
        float(scipy.stats.studentized_range.sf(gap / nemenyi_error * np.sqrt(2), targets, np.inf)) for gap in apart
    ]
    conover = [
        float(2 * scipy.stats.t.sf(gap / conover_error, degrees)) if conover_error > 0 else float(gap == 0)
        for gap in apart
    ]
    return [
        Pair(*pair, min(1.0, by_range), by_spread, by_differences)
        for pair, by_range, by_spread, by_differences in zip(pairs, nemenyi, holm(conover), signed, strict=True)
    ]
