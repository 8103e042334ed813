"""Rates of wrong lines of comparisons of runs; docs/decision.md has the whole table, by benchmarks/statistics/runs.py."""

from pathlib import Path

import pytest

from tests.compare.planted_runs import MARGIN, Plant, rates, straight, through_folders


@pytest.mark.parametrize("plant", [Plant(sides=(2, 3)), Plant(sides=(1, 1), prior=1.0, worse=0.12)])
def test_rates_are_those_of_run_folders(plant: Plant, tmp_path: Path) -> None:
    """The counts below, made without folders, are those that `slotmark spread` and a comparison make of folders, to the figures that a table keeps."""
    for seed in (1, 2):
        compared = through_folders(plant, tmp_path / str(seed), [3, seed])
        rows, decision = straight(plant, [3, seed])
        assert compared.decision is not None
        assert compared.decision.answer == decision.answer
        for one, other in zip(compared.rows, rows, strict=True):
            mine, its = one.differences[0], other.differences[0]
            assert mine and its and mine.bounds and its.bounds
            assert mine.bounds.high == pytest.approx(its.bounds.high, rel=1e-4)
            assert mine.verdict == its.verdict


@pytest.mark.parametrize(
    ("plant", "held"),
    [
        pytest.param(Plant(sides=(1, 1), prior=1.0), 0.9, id="one per side and a prior"),
        pytest.param(Plant(sides=(3, 3)), 0.9, id="three per side"),
        pytest.param(Plant(sides=(1, 5)), 0.5, id="one against five"),
    ],
)
def test_equal_builds_rarely_hold_what_is_worse_rarely_ships_and_a_plain_change_holds(
    plant: Plant, held: float
) -> None:
    # Of 60, seven or more come up in 2 % of cases at a rate of 5 %; the seed is fixed.
    equal, margin, far = rates(plant, [0.0, MARGIN, 2 * MARGIN + 4 * plant.spread], 60, seed=11)
    assert equal.hold <= 0.1
    assert margin.ship <= 0.1
    assert far.hold >= held
    assert 0.9 <= equal.covered <= 0.99


def test_a_prior_of_a_third_of_the_truth_is_found_out_by_the_rates() -> None:
    """The control of the test above: intervals that are too narrow cover too little."""
    (equal,) = rates(Plant(sides=(1, 1), spread=0.04, prior=0.33), [0.0], 40, seed=12)
    assert equal.covered < 0.8
