"""Planted differences are found, and no others: rates over many made-up runs with a fixed seed.

The quick forms run always, with bounds that a right method passes by far and a wrong one (intervals a third too narrow,
p-values not adjusted) misses. benchmarks/statistics prints the rates of all noises.
"""

import numpy as np
import pytest

from slotmark.compare.verdict import judge
from slotmark.statistics.rank_tests import holm
from slotmark.statistics.ratio import Ratio, paired_ratio
from tests.compare.planted import ALIKE, rates


def ratios(noise: str, count: int, rounds: int, truth: float, *, seed: int, repetitions: int = 1_000) -> list[Ratio]:
    draws = np.random.default_rng([seed, rounds])
    sides = rates(draws, (ALIKE[noise], ALIKE[noise]), (count, rounds), truth)
    return [
        paired_ratio(ours, theirs, confidence=0.95, repetitions=repetitions, seed=[seed, index])
        for index, (ours, theirs) in enumerate(zip(*sides, strict=True))
    ]


def covered(found: list[Ratio], truth: float) -> float:
    return float(np.mean([one.interval.low <= truth <= one.interval.high for one in found]))


def verdicts(found: list[Ratio], p_values: list[float], margin: float = 0.02) -> list[str]:
    return [
        judge(one.interval, p, margin=margin, better="higher", confidence=0.95, tests=len(found)).verdict
        for one, p in zip(found, p_values, strict=True)
    ]


def wrong_families(noise: str, families: int, size: int, rounds: int, repetitions: int) -> float:
    """The share of reports on equal runs that have any verdict of better or worse, with no margin at all."""
    wrong = 0
    for family in range(families):
        found = ratios(noise, size, rounds, 1, seed=1_000 + family, repetitions=repetitions)
        wrong += bool({"better", "worse"} & set(verdicts(found, holm([one.p for one in found]), margin=0)))
    return wrong / families


@pytest.mark.parametrize("noise", ["steady, 2 %", "disturbed, 1 in 20", "only ever slower"])
def test_intervals_of_ten_rounds_cover_the_truth(noise: str) -> None:
    # 400 pairs: 95 % give or take 1.1 %, and more where ten rounds don't pass as independent: nearly all of those cover.
    assert 0.94 <= covered(ratios(noise, 400, 10, 1.1, seed=1), 1.1) <= 0.995


def test_intervals_of_five_rounds_are_rather_too_wide() -> None:
    assert covered(ratios("steady, 2 %", 300, 5, 0.8, seed=2), 0.8) >= 0.94


def test_a_planted_difference_is_found() -> None:
    found = ratios("steady, 2 %", 100, 20, 1.1, seed=3)
    said = verdicts(found, [one.p for one in found])
    assert said.count("better") >= 93
    assert "worse" not in said


def test_equal_runs_get_no_verdict_of_better_or_worse() -> None:
    # 60 reports of 20 tests: without Holm about two in three would have one.
    assert wrong_families("steady, 2 %", 60, 20, 10, 2_000) <= 0.15


@pytest.mark.slow
@pytest.mark.parametrize("noise", list(ALIKE))
def test_intervals_of_ten_rounds_cover_at_least_93_in_100(noise: str) -> None:
    # 3,000 pairs: 95 % give or take .4 %.
    share = covered(ratios(noise, 3_000, 10, 1.03, seed=4, repetitions=4_000), 1.03)
    assert 0.94 <= share <= 0.995, f"{share:.1%}"


@pytest.mark.slow
@pytest.mark.parametrize("rounds", [5, 10])
@pytest.mark.parametrize("noise", ["steady, 2 %", "disturbed, 1 in 20"])
def test_at_most_one_report_in_twenty_on_equal_runs_has_a_false_verdict(noise: str, rounds: int) -> None:
    # 400 reports of 20 tests: 5 % give or take 1.1 %; three of those are allowed for.
    share = wrong_families(noise, 400, 20, rounds, 8_000)
    assert share <= 0.05 + 3 * 0.011, f"{share:.1%}"
