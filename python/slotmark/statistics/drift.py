"""Judges whether the level of consecutive values may drift under their noise, so far that nothing shows how much their mean varies.

Noise hides a slow drift: the slowest cosines of a short course hardly show it, and yet its mean varies several times as much as they show. Two
models of the cosines are compared by their likelihoods: a first-order autoregression alone, and the same with a random
walk added to it that makes the mean vary at least twice as far. Where the second is clearly likelier, the first can't be relied on. Where it is about
as likely, nothing shows whether there is a drift, and the mean may vary as far as it makes it.
"""

import functools

import msgspec
import numpy as np
import scipy

from slotmark.statistics.dependence import LEAST_VALUES, stretches

EVIDENCE = 1.75
"""The logarithm of how many times as likely a drift must make the values. At 1, 7 of 100 pairs of runs of AR(1) 0.5 would be taken for drifts, now 5 at most."""

POSSIBLE = 0.6
"""A model is possible where the likeliest explains the values e to the power of this times as well at most. At 0.4, intervals of 50 blocks with a fifth AR(1)
0.99 would miss the truth in 9 of 100 cases, now in 5; at 1, those of independent blocks would be four times as wide as without any drift, now three times."""

_LIKENESSES = (0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.85, 0.9, 0.95)
_STRENGTHS = (0.0, *(9.0 * 2**step for step in range(12)))
"""Strengths of random walks, none first: the variance of where they end over that of the mean's noise. The mean varies by 1 + a third of it: with a walk 4 times at least."""


class Drift(msgspec.Struct, frozen=True):
    """The drift that values in their order show.

    Attributes:
        likely: Whether a drift that noise hides explains them much better than an autoregression does; False of fewer than 8, and where all are equal.
        most_variance: How large the variance of their sum may be: the largest by a model that is possible, a drift among them or not. Infinite of fewer
            than 8, which don't show it; 0 where all are equal.
    """

    likely: bool
    most_variance: float


def drift(values: np.ndarray) -> Drift:
    """Returns what values show of a drift.

    Args:
        values: At least two, in their order, shape (n,). Their mean is taken out.
    """
    power = _power(values)
    if not power.any():
        return Drift(likely=False, most_variance=0.0)
    if values.size < LEAST_VALUES:
        return Drift(likely=False, most_variance=float(np.inf))
    spectra = _spectra(power.size + 1)
    scales = (power / spectra).mean(axis=1)  # the variance of each model's noise that makes the cosines likeliest
    logs = -np.log(spectra).sum(axis=1) / 2 - power.size / 2 * np.log(scales)
    noises = len(_LIKENESSES)
    farther = np.repeat([1 + strength / 3 for strength in _STRENGTHS], noises)
    variances = (power.size + 1) * farther * scales
    return Drift(
        likely=float(logs[noises:].max() - logs[:noises].max()) > EVIDENCE,
        most_variance=float(variances[logs >= logs.max() - POSSIBLE].max()),
    )


def _power(values: np.ndarray) -> np.ndarray:
    """The squared cosines of stretches of values without their mean, from the second cosine on; 0 where all are equal."""
    away = values - values.mean()
    sums = stretches(away)
    if float((away * away).sum()) <= 1e-24 * values.size * float(np.abs(values).max()) ** 2:
        return np.zeros(sums.size - 1)
    return np.asarray(scipy.fft.dct(sums, type=2, norm="ortho"))[1:] ** 2


@functools.cache
def _spectra(count: int) -> np.ndarray:
    """The models of ``count`` stretches, those without a walk first: at the cosines from the second on, shape (models, count - 1)."""
    angles = np.pi * np.arange(1, count) / count
    noises = np.array([(1 - one) ** 2 / (1 - 2 * one * np.cos(angles) + one**2) for one in _LIKENESSES])
    walk = (2 * count * np.sin(angles / 2)) ** -2.0
    return np.concatenate([noises + strength * walk for strength in _STRENGTHS])
