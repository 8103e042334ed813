"""A mean of values in their order, each of which may resemble the one before by an unknown share.

The model is a first-order autoregression with a correlation between 0 and 1 that is unknown. Few values show little of it: at ten,
independent values and values with a correlation of 0.9 look alike in one case in ten. So no single correlation is estimated. The mean's
distribution is that of Student's t at each possible correlation, weighted by how well that explains the values: the posterior under a
prior that is flat in Fisher's z of the correlation, in the mean and in the log of the spread.
"""

import msgspec
import numpy as np
import scipy

from slotmark.statistics.distributions import t_isf, t_sf

CORRELATIONS = np.tanh((np.arange(24) + 0.5) / 24 * 2.44)
"""From 0.05 to 0.98, evenly in Fisher's z. Above, ten values look the same as ones that drift without end."""

SHOWN = 0.4
"""The ratio below which values pass as independent: that of the likelihoods of their order for correlated and independent values."""


class Course(msgspec.Struct, frozen=True):
    """The variation of the mean of values in their order.

    Attributes:
        evidence: The logarithm of that ratio: how much likelier the order is for correlated values than for independent ones.
        weights: Weights of each of :data:`CORRELATIONS`, sum 1.
        errors: The mean's standard error at each.
        degrees: Degrees of freedom of these.
    """

    evidence: float
    weights: np.ndarray
    errors: np.ndarray
    degrees: int

    @property
    def independent(self) -> bool:
        """Returns whether values pass as independent of each other."""
        return self.evidence < float(np.log(SHOWN))

    def p(self, distance: float) -> float:
        """The two-sided p-value of a mean so far from the truth."""
        return float(self.weights @ (2 * t_sf(abs(distance) / self.errors, self.degrees)))

    def reach(self, confidence: float) -> float:
        """Returns the largest distance of the mean from the truth, at a confidence given as a fraction."""
        most = float(t_isf((1 - confidence) / 2, self.degrees) * self.errors.max())
        found = scipy.optimize.brentq(lambda distance: self.p(distance) - (1 - confidence), 0.0, 1.01 * most)
        return float(found)  # pyright: ignore[reportArgumentType] - without full_output it is a number


def course(values: np.ndarray, cut: int = 0) -> Course:
    """Returns the variation of the mean of at least three values that aren't all equal, with ``cut`` smallest and largest ones left out.

    Whether neighbours resemble each other is read off the normal scores of the values' ranks, so that single values far off neither
    hide nor feign it. Errors are those of winsorised values.

    Args:
        values: In their order.
        cut: How many of them the mean leaves out at each end.
    """
    n = values.size
    _, places, counts = np.unique(values, return_inverse=True, return_counts=True)
    ranks = (np.cumsum(counts) - (counts - 1) / 2)[places]  # of equal ones, the mean
    scores = scipy.special.ndtri((ranks - 0.5) / n)
    alike, _ = _explained(scores, CORRELATIONS)
    alone, _ = _explained(scores, np.zeros(1))
    evidence = float(np.logaddexp.reduce(alike - alone)) - float(np.log(CORRELATIONS.size))
    ordered = np.sort(values)
    logs, squares = _explained(np.clip(values, ordered[cut], ordered[n - 1 - cut]), CORRELATIONS)
    weights = np.exp(logs - logs.max())
    errors = np.sqrt(squares / (n - 1) * _mean_varies(n, CORRELATIONS)) / (1 - 2 * cut / n)
    return Course(evidence, weights / weights.sum(), errors, n - 1)


def apart(one: Course, other: Course) -> Course:
    """Returns the variation of the difference of two independent means, with the fewer degrees of freedom of both.

    A course that passes as independent has the least correlation.
    """
    sides = [
        (each.weights, each.errors) if not each.independent else (np.ones(1), each.errors[:1]) for each in (one, other)
    ]
    weights, errors = (
        function.outer(*of).ravel()
        for function, of in zip((np.multiply, np.hypot), zip(*sides, strict=True), strict=True)
    )
    order = np.lexsort((weights, errors))  # the same for the two swapped
    return Course(max(one.evidence, other.evidence), weights[order], errors[order], min(one.degrees, other.degrees))


def _explained(values: np.ndarray, correlations: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """At each correlation the logarithm of the values' likelihood, over all means and spreads, and their sum of squares."""
    n, r = values.size, correlations
    away = values - values.mean()
    # The inverse of the correlations' matrix is tridiagonal: 1 + r^2 in the middle, 1 at the ends, -r beside, over 1 - r^2.
    own = float((away**2).sum())
    ends = float(away[0] ** 2 + away[-1] ** 2)
    beside = float((away[1:] * away[:-1]).sum())
    whole = (own + r**2 * (own - ends) - 2 * r * beside) / (1 - r**2)
    ones = (n - (n - 2) * r) / (1 + r)
    level = r * float(away[0] + away[-1]) / (1 + r)  # the values' own sum is 0
    squares = np.maximum(whole - level**2 / ones, 1e-300)
    logs = -((n - 1) * np.log1p(-(r**2)) + np.log(ones) + (n - 1) * np.log(squares)) / 2
    return logs, squares


def _mean_varies(n: int, correlations: np.ndarray) -> np.ndarray:
    """The variance of the mean of ``count`` values, over their own."""
    r = correlations
    return (n * (1 - r**2) - 2 * r * (1 - r**n)) / (n * (1 - r)) ** 2
