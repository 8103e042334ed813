"""Rounds whose truth is known: noise as benchmarks have it, with a planted ratio."""

from collections.abc import Callable

import numpy as np

Noise = Callable[[np.random.Generator, tuple[int, ...]], np.ndarray]
"""The logarithm of what noise does to a rate."""


def steady(draws: np.random.Generator, shape: tuple[int, ...]) -> np.ndarray:
    """Normal, with a standard deviation of 2 %."""
    return draws.normal(0, 0.02, shape)


def disturbed(draws: np.random.Generator, shape: tuple[int, ...]) -> np.ndarray:
    """As steady, but one invocation in 20 takes 10 % to twice as long."""
    return steady(draws, shape) - (draws.random(shape) < 0.05) * draws.uniform(0.1, 0.7, shape)


def only_slower(draws: np.random.Generator, shape: tuple[int, ...]) -> np.ndarray:
    """Exponential: a best case that invocations miss by 2 % on average."""
    return -draws.exponential(0.02, shape)


def two_speeds(draws: np.random.Generator, shape: tuple[int, ...]) -> np.ndarray:
    """Normal with 1 %, and every other invocation 15 % faster, as by clock frequency or memory layout."""
    return draws.normal(0, 0.01, shape) + 0.15 * (draws.random(shape) < 0.5)


def quiet(draws: np.random.Generator, shape: tuple[int, ...]) -> np.ndarray:
    """Normal, with a standard deviation of 1 %."""
    return draws.normal(0, 0.01, shape)


def much_slower(draws: np.random.Generator, shape: tuple[int, ...]) -> np.ndarray:
    """Exponential: a best case that invocations miss by 5 % on average."""
    return -draws.exponential(0.05, shape)


ALIKE: dict[str, Noise] = {
    "steady, 2 %": steady,
    "disturbed, 1 in 20": disturbed,
    "only ever slower": only_slower,
    "two speeds": two_speeds,
}
"""Noise that both sides have."""

UNLIKE: dict[str, tuple[Noise, Noise]] = {
    "candidate disturbed": (steady, disturbed),
    "candidate skewed": (quiet, much_slower),
}
"""Noise of the baseline and of the candidate."""

NOISES: dict[str, tuple[Noise, Noise]] = {name: (noise, noise) for name, noise in ALIKE.items()} | UNLIKE


def rates(
    draws: np.random.Generator, noises: tuple[Noise, Noise], shape: tuple[int, ...], ratio: float = 1.0
) -> tuple[np.ndarray, np.ndarray]:
    """Blocks per second of baseline and candidate, who share a drift of 5 % a round (the last axis of the shape)."""
    drift = draws.normal(0, 0.05, shape)
    baseline = np.exp(np.log(3_000) + drift + noises[0](draws, shape))
    candidate = np.exp(np.log(3_000 * ratio) + drift + noises[1](draws, shape))
    return baseline, candidate
