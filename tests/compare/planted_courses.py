"""Courses of runs whose truth is known: blocks that resemble their neighbours, and levels that drift. Every mean is 0."""

from collections.abc import Callable

import numpy as np
from scipy import signal

from slotmark.statistics.ratio import Ratio, paired_ratio
from slotmark.statistics.two_speeds import stuck

Course = Callable[[np.random.Generator, int, int], np.ndarray]
"""Draws, runs and blocks: deviations of consecutive blocks from their level; shape (runs, blocks)."""


def autoregressive(likeness: float, *, skewed: bool = False) -> Course:
    """Each block deviates by so much of what the one before did, and by noise: normal, or a gamma variable's."""

    def course(draws: np.random.Generator, runs: int, blocks: int) -> np.ndarray:
        before = 100 + round(10 / (1 - likeness))
        shape = runs, blocks + before
        noise = (draws.gamma(2, 1, shape) - 2) if skewed else draws.standard_normal(shape)
        return np.asarray(signal.lfilter([1.0], [1.0, -likeness], noise, axis=1))[:, before:]

    return course


def drift_under_noise(likeness: float, share: float) -> Course:
    """Independent noise, with a slow course under it that has so much of its variance."""
    slow = autoregressive(likeness)

    def course(draws: np.random.Generator, runs: int, blocks: int) -> np.ndarray:
        scale = np.sqrt(share * (1 - likeness**2))
        return scale * slow(draws, runs, blocks) + draws.standard_normal((runs, blocks))

    return course


def walk_under_noise(far: float) -> Course:
    """Independent noise, and a random walk under it that goes so far in a run, in deviations of the noise; it starts at the level."""

    def course(draws: np.random.Generator, runs: int, blocks: int) -> np.ndarray:
        steps = draws.normal(0, far / blocks**0.5, (runs, blocks))
        return steps.cumsum(axis=1) + draws.standard_normal((runs, blocks))

    return course


def slow_and_fast(slow: float, share: float, fast: float) -> Course:
    """Two autoregressive parts, the slow one with so much of the variance."""
    parts = ((autoregressive(slow), share * (1 - slow**2)), (autoregressive(fast), (1 - share) * (1 - fast**2)))

    def course(draws: np.random.Generator, runs: int, blocks: int) -> np.ndarray:
        return sum((scale**0.5 * part(draws, runs, blocks) for part, scale in parts), np.zeros((runs, blocks)))

    return course


def ten_alike(draws: np.random.Generator, runs: int, blocks: int) -> np.ndarray:
    """Ten blocks each deviate alike."""
    return np.repeat(draws.standard_normal((runs, blocks // 10 + 2)), 10, axis=1)[:, 5 : blocks + 5]


Sides = Callable[[np.random.Generator, int, int], np.ndarray]
"""Draws, sessions and rounds: the logarithms of what two equal targets take in each round; shape (2, sessions, rounds)."""


def two_speeds_that_stick(stays: float) -> Sides:
    """Two sides that each run at one of two speeds, 15 % apart, and stay at theirs from round to round with this probability."""

    def sides(draws: np.random.Generator, sessions: int, rounds: int) -> np.ndarray:
        turns = draws.random((2, sessions, rounds)) >= stays
        turns[:, :, 0] = draws.random((2, sessions)) < 0.5
        return 0.15 * (turns.cumsum(axis=2) % 2) + draws.normal(0, 0.01, (2, sessions, rounds))

    return sides


def both_drift(likeness: float) -> Sides:
    """Two sides with 2 % noise, each of whose rounds deviates by so much of what the one before did."""
    course = autoregressive(likeness)

    def sides(draws: np.random.Generator, sessions: int, rounds: int) -> np.ndarray:
        both = course(draws, 2 * sessions, rounds).reshape(2, sessions, rounds)
        return 0.02 * np.sqrt(1 - likeness**2) * both

    return sides


DRIFTING_ROUNDS: dict[str, Sides] = {
    "independent": both_drift(0.0),
    **{f"AR(1) {likeness}": both_drift(likeness) for likeness in (0.5, 0.7, 0.9)},
    **{f"two speeds that stay in {stays:.0%}": two_speeds_that_stick(stays) for stays in (0.5, 0.7, 0.8, 0.9)},
}
"""Courses of rounds of two equal targets."""


COURSES: dict[str, Course] = {
    "independent": autoregressive(0.0),
    "AR(1) 0.5": autoregressive(0.5),
    "AR(1) 0.5, skewed": autoregressive(0.5, skewed=True),
    "AR(1) 0.7": autoregressive(0.7),
    "AR(1) 0.7, skewed": autoregressive(0.7, skewed=True),
    "AR(1) 0.9": autoregressive(0.9),
    "AR(1) 0.95": autoregressive(0.95),
    "AR(1) 0.995": autoregressive(0.995),
    "ten alike": ten_alike,
    "AR(1) 0.9 under noise": drift_under_noise(0.9, 0.25),
    "walk of 0.5 under noise": walk_under_noise(0.5),
    "walk of 1 under noise": walk_under_noise(1.0),
    "walk of 2 under noise": walk_under_noise(2.0),
    "a fifth AR(1) 0.99": slow_and_fast(0.99, 0.2, 0.0),
    "half AR(1) 0.98, half 0.3": slow_and_fast(0.98, 0.5, 0.3),
}


def sessions_of_course(name: str, rounds: int, pairs: int, seed: int) -> np.ndarray:
    """The logarithms of both sides in so many sessions of one of :data:`DRIFTING_ROUNDS`; shape (2, pairs, rounds)."""
    return DRIFTING_ROUNDS[name](np.random.default_rng([seed, rounds]), pairs, rounds)


def sticks(ours: np.ndarray, theirs: np.ndarray) -> bool:
    """Returns whether a side of a session sticks to one of two speeds, so that there is no verdict; both as logarithms."""
    return any(stuck(one, theirs - ours) is not None for one in (ours, theirs))


def ratios_of_course(name: str, rounds: int, pairs: int, seed: int, *, repetitions: int = 1_000) -> list[Ratio]:
    """The findings of the estimator of rounds in so many sessions of two equal targets that follow one of :data:`DRIFTING_ROUNDS`."""
    return [
        paired_ratio(np.exp(ours), np.exp(theirs), confidence=0.95, repetitions=repetitions, seed=[seed, place])
        for place, (ours, theirs) in enumerate(zip(*sessions_of_course(name, rounds, pairs, seed), strict=True))
    ]


def levels_of_hosts(draws: np.random.Generator, runs: int, slots: int, hosts: int) -> np.ndarray:
    """A level per host that drifts: where it starts varies by 2 %, and it drifts by 2 % over the run; shape (runs, slots, hosts)."""
    starts = draws.normal(0, 0.02, (runs, 1, hosts))
    return 1 + starts + draws.normal(0, 0.02 / slots**0.5, (runs, slots, hosts)).cumsum(axis=1)


def hosts_again(
    draws: np.random.Generator, runs: int, hosts: int, between: float, again: float, *, same: bool = True
) -> np.ndarray:
    """A level per host that differs by so much between hosts, in two runs that it differs by so much between; shape (runs, 2, hosts).

    Where hosts aren't the same, those of the second run are others that have the names of the first's.
    """
    levels = draws.normal(0, between, (runs, 1 if same else 2, hosts))
    return np.exp(levels + draws.normal(0, again, (runs, 2, hosts)))


def use_of_hosts(
    draws: np.random.Generator, slots: int, hosts: int, again: float, shared: float
) -> tuple[np.ndarray, np.ndarray]:
    """CPU use of the same hosts, by slot: their levels differ by 30 %, and by so much between the two runs; shapes (slots, hosts).

    Noise of 50 % is of one host and slot, or, by its share of the variance, of a slot on all hosts: a block makes all of them work.
    """
    levels = draws.normal(0, 0.3, (1, hosts))
    noise = (
        0.5
        * (
            shared**0.5 * draws.standard_normal((slots, 1))
            + (1 - shared) ** 0.5 * draws.standard_normal((slots, hosts))
        )
        for _ in range(2)
    )
    ours, theirs = (np.exp(levels + draws.normal(0, again, (1, hosts))) * (1 + one) for one in noise)
    return ours, theirs


def log_normal(draws: np.random.Generator, deviation: float, shape: tuple[int, int]) -> np.ndarray:
    """Independent log-normal values with mean 0."""
    return draws.lognormal(0, deviation, shape) - np.exp(deviation**2 / 2)
