"""Variances of many things, each estimated from few values, moderated by what they have in common (Smyth 2004).

With three values a side a variance is wild: among a thousand things some are far too small by chance, and those would be called
different. Each variance is drawn towards a prior that is fitted to all of them; its degrees of freedom grow by the prior's.
"""

import msgspec
import numpy as np
import scipy

_MOST_DEGREES = 1e6
"""A prior with more degrees of freedom is as good as known."""


class Moderated(msgspec.Struct, frozen=True):
    """Moderated variances.

    Attributes:
        variances: One per thing, above 0.
        degrees: Degrees of freedom of each, the prior's included.
        prior: The prior variance.
        prior_degrees: Its degrees of freedom; 0 where the variances have nothing in common.
    """

    variances: np.ndarray
    degrees: float
    prior: float
    prior_degrees: float


def moderated(variances: np.ndarray, degrees: float, *, alike: float = 0.0) -> Moderated:
    """Draws sample variances towards a scaled inverse chi-squared prior, fitted by the moments of their logarithms.

    Smyth, "Linear models and empirical Bayes methods for assessing differential expression in microarray experiments", Statistical
    Applications in Genetics and Molecular Biology 3 (2004), section 6.2. Variances of 0 are left out of the fit.

    Args:
        variances: Shape (n,), each 0 or above, at least one above 0.
        degrees: Degrees of freedom of each.
        alike: By how much the things' own chance is shared, from 0 to 1: so much less of it shows between them.
    """
    logs = np.log(variances[variances > 0])
    half = degrees / 2
    own = float(scipy.special.polygamma(1, half)) * (1 - alike)
    centred = logs - float(scipy.special.digamma(half)) + np.log(half)
    spread = float(centred.var(ddof=1)) if logs.size > 1 else 0.0
    if spread > own:
        prior_degrees = min(2 * _trigamma_inverse(spread - own), _MOST_DEGREES)
        offset = float(scipy.special.digamma(prior_degrees / 2)) - np.log(prior_degrees / 2)
    else:
        prior_degrees, offset = _MOST_DEGREES, 0.0
    prior = float(np.exp(centred.mean() + offset))
    whole = prior_degrees + degrees
    return Moderated((prior_degrees * prior + degrees * variances) / whole, whole, prior, prior_degrees)


def _trigamma_inverse(value: float) -> float:
    """The argument at which the trigamma function, which falls from infinity to 0, has a value above 0."""
    low, high = 1e-8, 1e8
    if value >= float(scipy.special.polygamma(1, low)):
        return low
    if value <= float(scipy.special.polygamma(1, high)):
        return high
    return float(scipy.optimize.brentq(lambda at: float(scipy.special.polygamma(1, at)) - value, low, high))
