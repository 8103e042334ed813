"""Means of runs: their difference, its interval, and how often it is right."""

import numpy as np
import pytest

from slotmark.statistics.stretches import MOST_STRETCHES, Stretches, mean_difference, stretches

HOW = {"confidence": 0.95, "repetitions": 2_000, "seed": [1]}


def run(values: np.ndarray) -> Stretches:
    """A run with one value per block."""
    return stretches(values, np.arange(values.size))


def test_samples_of_one_block_stay_together() -> None:
    found = stretches(np.array([1.0, 2.0, 5.0]), np.array([0, 2]))
    assert (found.sums.tolist(), found.counts.tolist(), found.units) == ([3, 5], [2, 1], 2)
    assert found.mean == pytest.approx(8 / 3)


def test_long_runs_are_cut_into_stretches_of_consecutive_blocks() -> None:
    found = run(np.arange(1_000.0))
    assert found.sums.size == MOST_STRETCHES
    assert found.counts.tolist() == [20] * MOST_STRETCHES
    assert found.sums[0] == sum(range(20))


def test_swapping_sides_turns_the_sign() -> None:
    draws = np.random.default_rng(3)
    ours, theirs = run(draws.normal(10, 1, 400)), run(draws.normal(11, 1, 400))
    there = mean_difference([ours], [theirs], **HOW)
    back = mean_difference([theirs], [ours], **HOW)
    assert there is not None
    assert back is not None
    assert there.delta.estimate == pytest.approx(-back.delta.estimate)
    assert there.delta.low < 1 < there.delta.high
    assert there.p < 0.001


def test_equal_runs_differ_by_nothing() -> None:
    found = mean_difference([run(np.ones(30))], [run(np.ones(40))], **HOW)
    assert found is not None
    assert (found.delta.low, found.delta.high, found.p) == (0, 0, 1)


def test_one_block_tells_nothing_of_chance() -> None:
    assert mean_difference([run(np.ones(1))], [run(np.ones(40))], **HOW) is None


def test_two_runs_a_side_are_compared_by_their_means() -> None:
    # Run means 10 and 12, 15 and 17: difference 5, standard error sqrt(1 + 1), two degrees of freedom, t = 4.303.
    runs = [[run(np.full(20, mean) + np.arange(20) * 1e-9) for mean in means] for means in ((10, 12), (15, 17))]
    found = mean_difference(runs[0], runs[1], **HOW)
    assert found is not None
    assert found.delta.estimate == pytest.approx(5)
    assert found.delta.high - 5 == pytest.approx(4.3027 * 2**0.5, rel=1e-4)


def correlated(draws: np.random.Generator, blocks: int, runs: int) -> np.ndarray:
    """Costs of consecutive blocks that resemble each other: an autoregressive course with a correlation of 0.5."""
    noise = draws.gamma(4, 0.05, (runs, blocks + 50)) - 0.2
    course = np.zeros_like(noise)
    for place in range(1, noise.shape[1]):
        course[:, place] = 0.5 * course[:, place - 1] + noise[:, place]
    return 1 + course[:, 50:]


@pytest.mark.parametrize("blocks", [40, 400, 2_000])
def test_intervals_cover_the_truth(blocks: int) -> None:
    draws = np.random.default_rng(11)
    ours, theirs = correlated(draws, blocks, 400), correlated(draws, blocks, 400) * 1.05
    found = [
        mean_difference([run(one)], [run(other)], confidence=0.95, repetitions=500, seed=[number])
        for number, (one, other) in enumerate(zip(ours, theirs, strict=True))
    ]
    covered = np.mean([one is not None and one.delta.low <= 0.05 <= one.delta.high for one in found])
    print(f"{blocks} blocks: {covered:.1%} of intervals cover the truth")
    # Stretches of few blocks still resemble each other a little; docs/method.md says how much that costs.
    assert (0.85 if blocks == 40 else 0.92) <= covered <= 0.98
