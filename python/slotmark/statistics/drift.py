"""Judges whether the level of consecutive values may drift under their noise, so far that nothing shows how much their mean varies.

Noise hides a slow drift: the slowest cosines of a short course hardly show it, and yet its mean varies several times as much as they show. Two
models of the cosines are compared by their likelihoods: a first-order autoregression alone, and the same with a random
walk added to it that makes the mean vary at least twice as far. Where the second is clearly likelier, the first can't be relied on.
"""

import functools

import numpy as np
import scipy

from slotmark.statistics.dependence import LEAST_VALUES, stretches

EVIDENCE = 1.75
"""The logarithm of how many times as likely a drift must make the values. At 1, 7 of 100 pairs of runs of AR(1) 0.5 would be taken for drifts, now 5 at most."""

_LIKENESSES = (0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.85, 0.9, 0.95)
_STRENGTHS = tuple(9.0 * 2**step for step in range(12))
"""Strengths of random walks: the variance of where they end over that of the mean's noise. The mean varies by 1 + a third of it: 4 times at least."""


def may_drift(values: np.ndarray) -> bool:
    """Returns whether a drift under the noise explains values in their order clearly better than without one; fewer than 8 don't show it.

    Args:
        values: At least two, shape (n,). Their mean is taken out.
    """
    away = values - values.mean()
    if (
        values.size < LEAST_VALUES
        or float((away * away).sum()) <= 1e-24 * values.size * float(np.abs(values).max()) ** 2
    ):
        return False
    sums = stretches(away)
    power = np.asarray(scipy.fft.dct(sums, type=2, norm="ortho"))[1:] ** 2
    if power.max() <= 0:
        return False
    noises, drifts = _spectra(sums.size)
    return _likelihood(power, drifts) - _likelihood(power, noises) > EVIDENCE


def _likelihood(power: np.ndarray, spectra: np.ndarray) -> float:
    """The logarithm of the largest likelihood of squared cosines, over the models and their scales."""
    scales = (power / spectra).mean(axis=1)
    return float((-np.log(spectra).sum(axis=1) / 2 - power.size / 2 * np.log(scales)).max())


@functools.cache
def _spectra(count: int) -> tuple[np.ndarray, np.ndarray]:
    """The models of ``count`` stretches, without and with a walk: at the cosines from the second on, shape (models, count - 1) each."""
    angles = np.pi * np.arange(1, count) / count
    noises = np.array([(1 - one) ** 2 / (1 - 2 * one * np.cos(angles) + one**2) for one in _LIKENESSES])
    walk = (2 * count * np.sin(angles / 2)) ** -2.0
    return noises, np.concatenate([noises + strength * walk for strength in _STRENGTHS])
