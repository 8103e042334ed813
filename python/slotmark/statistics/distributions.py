"""Student's t, noncentral t and chi-squared distributions, by the functions of scipy.special that scipy.stats calls for them.

The numbers are the same. Loading scipy.stats takes longer than most comparisons of small runs.
"""

from typing import Any

import numpy as np
import scipy

Numbers = Any
"""One number, or an array of them; arguments are broadcast, and the result has their shape."""


def t_sf(x: Numbers, degrees: Numbers) -> Numbers:
    """The probability that Student's t exceeds ``x``."""
    return scipy.special.stdtr(degrees, -np.asarray(x, np.float64))


def t_isf(share: Numbers, degrees: Numbers) -> Numbers:
    """Returns the value that Student's t exceeds with a probability above 0."""
    return -scipy.special.stdtrit(degrees, share)


def t_ppf(share: Numbers, degrees: Numbers) -> Numbers:
    """Returns the value that Student's t stays below with a probability above 0."""
    return scipy.special.stdtrit(degrees, share)


def nct_cdf(x: Numbers, degrees: Numbers, away: Numbers) -> Numbers:
    """The probability that noncentral t stays below ``x``; ``away`` is its noncentrality."""
    return scipy.special.nctdtr(degrees, away, x)


def nct_sf(x: Numbers, degrees: Numbers, away: Numbers) -> Numbers:
    """The probability that noncentral t exceeds ``x``, which is 0 or above: mirrored, it stays below ``-x``."""
    return np.clip(scipy.special.nctdtr(degrees, -np.asarray(away, np.float64), -np.asarray(x, np.float64)), 0, 1)


def chi2_ppf(share: Numbers, degrees: Numbers) -> Numbers:
    """Returns the value that chi-squared stays below with a probability."""
    return 2 * scipy.special.gammaincinv(np.asarray(degrees, np.float64) / 2, share)


def chi2_isf(share: Numbers, degrees: Numbers) -> Numbers:
    """Returns the value that chi-squared exceeds with a probability."""
    return scipy.special.chdtri(degrees, share)
