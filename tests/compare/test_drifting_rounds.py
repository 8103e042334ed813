"""Rounds whose ratio drifts: intervals cover what is true, and equal targets are not told apart."""

from pathlib import Path

import numpy as np
import pytest

from slotmark import compare
from slotmark.statistics.resampling import studentised
from slotmark.statistics.two_speeds import two_levels
from tests.compare.planted import ALIKE
from tests.compare.planted_courses import ratios_of_course, sessions_of_course, sticks
from tests.made_up_runs import write_run

SETTING = "decode, sequential"


def logs_of(name: str, rounds: int, pairs: int, seed: int) -> np.ndarray:
    """Logarithms of ratios, one session a row."""
    ours, theirs = sessions_of_course(name, rounds, pairs, seed)
    return theirs - ours


def test_the_estimator_gives_the_same_through_run_folders(tmp_path: Path) -> None:
    """So that the rates below, of the estimator alone, are those of `compare`."""
    sides = sessions_of_course("AR(1) 0.9", 10, 4, 1)
    for place in range(4):
        folder = tmp_path / str(place)
        ours, theirs = (
            write_run(folder / name, name, {SETTING: (3_000 * np.exp(one[place])).tolist()})
            for name, one in zip("ab", sides, strict=True)
        )
        row = next(row for row in compare(ours, theirs).rows if row.metric.id == "blocks_per_s")
        (found,) = row.differences
        assert found is not None
        assert found.ratio is not None
        assert found.basis is not None
        one = ratios_of_course("AR(1) 0.9", 10, 4, 1, repetitions=10_000)[place]
        assert (found.basis.effective[0] < 10) == (one.effective != 10)
        assert np.log([found.ratio.low, found.ratio.high]) == pytest.approx(
            np.log([one.interval.low, one.interval.high]), rel=0.05
        )


def missed(name: str, rounds: int, pairs: int, seed: int) -> float:
    found = ratios_of_course(name, rounds, pairs, seed, repetitions=500)
    return float(np.mean([not one.interval.low <= 1 <= one.interval.high for one in found]))


def missed_as_if_independent(name: str, rounds: int, pairs: int, seed: int) -> float:
    """The positive control: the interval without the order of rounds, as it was."""
    found = [
        studentised([one], confidence=0.95, repetitions=500, seed=[place]).interval
        for place, one in enumerate(logs_of(name, rounds, pairs, seed))
    ]
    return float(np.mean([not one.low <= 0 <= one.high for one in found]))


def test_ten_drifting_rounds_are_covered_and_would_not_be_without_their_order() -> None:
    # 200 pairs: 93 % give or take 1.8 %; two of those are allowed for.
    assert missed("AR(1) 0.9", 10, 200, 2) <= 0.07 + 2 * 0.018
    assert missed_as_if_independent("AR(1) 0.9", 10, 200, 2) >= 0.5


@pytest.mark.slow
@pytest.mark.parametrize("rounds", [10, 20])
@pytest.mark.parametrize("name", ["independent", "AR(1) 0.5", "AR(1) 0.7", "AR(1) 0.9"])
def test_intervals_of_rounds_that_drift_cover_at_least_93_in_100(name: str, rounds: int) -> None:
    # 2,000 pairs: give or take .6 %; two of those are allowed for.
    assert missed(name, rounds, 2_000, 3) <= 0.07 + 2 * 0.006
    if name.startswith("AR"):
        assert missed_as_if_independent(name, rounds, 500, 3) >= 0.14


def missed_where_it_counts(name: str, rounds: int, pairs: int, seed: int) -> tuple[float, float]:
    """The shares of sessions that miss the truth and have a verdict, and of those that have one."""
    found = ratios_of_course(name, rounds, pairs, seed, repetitions=500)
    counts = np.array(
        [not sticks(ours, theirs) for ours, theirs in zip(*sessions_of_course(name, rounds, pairs, seed), strict=True)]
    )
    missing = np.array([not one.interval.low <= 1 <= one.interval.high for one in found])
    return float((missing & counts).mean()), float(counts.mean())


def test_two_speeds_that_stick_get_no_verdict() -> None:
    # 300 sessions. The positive control: without looking for speeds that stick, one in six misses.
    false, _ = missed_where_it_counts("two speeds that stay in 90%", 20, 300, 5)
    assert false <= 0.05
    assert missed("two speeds that stay in 90%", 10, 300, 5) >= 0.12
    assert missed_where_it_counts("two speeds that stay in 70%", 20, 300, 5)[0] <= 0.05


@pytest.mark.parametrize("noise", ["steady, 2 %", "disturbed, 1 in 20", "only ever slower"])
def test_rounds_of_one_speed_keep_their_verdicts(noise: str) -> None:
    for rounds in (5, 10, 20, 40):
        draws = np.random.default_rng([7, rounds])
        both = [ALIKE[noise](draws, (400, rounds)) for _ in range(2)]
        assert np.mean([sticks(ours, theirs) for ours, theirs in zip(*both, strict=True)]) <= 0.07


def test_two_speeds_by_chance_keep_theirs_from_20_rounds_on_and_shared_ones_always() -> None:
    sides = sessions_of_course("two speeds that stay in 50%", 20, 200, 7)
    assert np.mean([sticks(ours, theirs) for ours, theirs in zip(*sides, strict=True)]) <= 0.12
    ours, _ = sessions_of_course("two speeds that stay in 90%", 20, 100, 7)
    apart = np.random.default_rng(7).normal(0, 0.01, ours.shape)
    assert np.mean([(found := two_levels(one)) is not None and found.sticks for one in ours]) > 0.5
    assert np.mean([sticks(one, one + own) for one, own in zip(ours, apart, strict=True)]) <= 0.02, "the machine's"


def test_a_client_that_sticks_to_two_speeds_gets_no_verdict_and_the_row_says_why(tmp_path: Path) -> None:
    steady = np.random.default_rng(1).normal(0, 0.003, (2, 20))
    slow = np.where(np.arange(20) < 9, 0.15, 0.0)
    for name, more, expected in (("sticks", slow, "undecided"), ("steady", 0.1, "worse")):
        ours = write_run(tmp_path / name / "a", "a", {SETTING: (3_000 * np.exp(steady[0])).tolist()})
        theirs = write_run(tmp_path / name / "b", "b", {SETTING: (3_000 * np.exp(steady[1] - more)).tolist()})
        (found,) = next(row for row in compare(ours, theirs).rows if row.metric.id == "blocks_per_s").differences
        assert found is not None
        assert found.verdict == expected, found.reason
        if name == "sticks":
            assert found.reason.startswith("no verdict possible: b is at one of two levels, 16")
            assert "changed between them only 1 time in 20 rounds" in found.reason


@pytest.mark.slow
@pytest.mark.parametrize("rounds", [10, 20, 40])
@pytest.mark.parametrize("stays", ["50%", "70%", "80%", "90%"])
def test_two_speeds_that_stick_are_covered_or_get_no_verdict(stays: str, rounds: int) -> None:
    # 1,000 sessions: give or take .8 %. Of ten rounds at 90 % one in four has a side that ran at one speed, or left it once: see docs/method.md.
    false, _ = missed_where_it_counts(f"two speeds that stay in {stays}", rounds, 1_000, 5)
    limit = {("90%", 10): 0.2, ("80%", 10): 0.086, ("70%", 40): 0.1}
    assert false <= limit.get((stays, rounds), 0.07)
