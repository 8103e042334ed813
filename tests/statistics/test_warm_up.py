"""Warm-up that was planted is found where it ends, and none is found where there is none."""

import numpy as np
import pytest
import ruptures

from slotmark.statistics.warm_up import LEAST_BLOCKS, WarmUp, segment_ends, warm_up


def course(
    draws: np.random.Generator,
    blocks: int = 400,
    *,
    warm: int = 0,
    excess: float = 0.5,
    noise: float = 0.05,
    flushes: bool = False,
    growing: bool = False,
) -> tuple[np.ndarray, list[np.ndarray]]:
    """Costs of blocks of three sizes, the first of which cost more; and their sizes."""
    size = draws.choice([900.0, 5_000.0, 60_000.0], blocks) * np.exp(draws.normal(0, 0.1, blocks))
    if growing:
        size = np.geomspace(900, 60_000, blocks) * np.exp(draws.normal(0, 0.3, blocks))
    costs = size**0.8 * np.exp(draws.normal(0, noise, blocks))
    costs[:warm] *= 1 + excess
    if flushes:
        costs[99::100] *= 30
    return costs, [size.astype(np.int64), (size // 400).astype(np.int64)]


def found(seed: int, **planted: float | bool) -> list[WarmUp | None]:
    draws = np.random.default_rng(seed)
    return [warm_up(*course(draws, **planted)) for _ in range(60)]  # pyright: ignore[reportArgumentType]


@pytest.mark.parametrize(
    "planted", [{}, {"noise": 0.3}, {"flushes": True}, {"growing": True}, {"blocks": 100}, {"blocks": 3_000}], ids=str
)
def test_where_there_is_none_none_is_found(planted: dict) -> None:
    assert sum(one is not None for one in found(1, **planted)) <= 2


@pytest.mark.parametrize(
    ("planted", "share"),
    [
        ({"warm": 40}, 0.047),
        ({"warm": 40, "excess": 0.2}, 0.0195),
        ({"warm": 40, "noise": 0.3}, 0.047),
        ({"warm": 10}, 0.012),
        ({"warm": 300, "blocks": 10_000, "excess": 1.0}, 0.029),
    ],
    ids=str,
)
def test_where_it_ends_and_how_much_it_matters(planted: dict, share: float) -> None:
    those = [one for one in found(2, **planted) if one]
    assert len(those) >= 57
    ends = [one.blocks for one in those]
    assert np.median(ends) == planted["warm"]
    assert np.quantile(np.abs(np.array(ends) - planted["warm"]), 0.9) <= 5
    assert np.median([one.excess for one in those]) == pytest.approx(planted.get("excess", 0.5), rel=0.1)
    assert np.median([one.share for one in those]) == pytest.approx(share, rel=0.1)


def test_what_falls_over_most_of_the_chain_is_no_warm_up() -> None:
    draws = np.random.default_rng(3)
    costs, sizes = course(draws, warm=250)
    assert warm_up(costs, sizes) is None


def test_few_blocks_equal_costs_and_zeros_are_taken() -> None:
    draws = np.random.default_rng(4)
    costs, sizes = course(draws, LEAST_BLOCKS - 1, warm=10)
    assert warm_up(costs, sizes) is None
    flat = np.full(200, 7)
    assert warm_up(flat, [flat]) is None
    assert warm_up(np.zeros(200), [flat]) is None
    costs, sizes = course(draws, warm=40)
    costs[5] = 0
    some = warm_up(costs, sizes)
    assert some is not None
    assert some.blocks == 40


def test_blocks_of_sizes_that_never_come_again_are_not_looked_at() -> None:
    draws = np.random.default_rng(5)
    costs, (size, transactions) = course(draws)
    costs[:40] *= 3
    size[:40] = 10**7
    assert warm_up(costs, [size, transactions]) is None


def test_segments_are_the_best_and_with_the_penalty_of_warm_up_those_of_an_established_library() -> None:
    def costs(values: np.ndarray, ends: list[int], penalty: float) -> float:
        return sum(float(np.var(part) * part.size) + penalty for part in np.split(values, ends[:-1]))

    draws = np.random.default_rng(6)
    for _ in range(60):
        steps = draws.normal(0, draws.choice([0.0, 1.0, 3.0]), draws.integers(2, 6))
        values = np.repeat(steps, draws.integers(5, 60, steps.size))
        values = values + draws.normal(0, 0.5, values.size)
        usual = 5 * 0.5**2 * float(np.log(values.size))
        for penalty in (usual, usual / 10):
            found = ruptures.KernelCPD(kernel="linear", min_size=5).fit(values[:, np.newaxis]).predict(pen=penalty)
            theirs = [int(end) for end in found or []]
            ours = segment_ends(values, penalty)
            assert costs(values, ours, penalty) <= costs(values, theirs, penalty) * (1 + 1e-12)
            # With a small one it prunes some that would be better.
            assert ours == theirs or penalty < usual
