"""Changes that are planted in blocks are found, and no others: rates over many made-up pairs with a fixed seed.

The quick forms run always, with bounds that a right method passes by far. benchmarks/ledger prints the rates.
"""

import numpy as np
import pytest

from slotmark.statistics.dependence import LEAST_EFFECTIVE
from slotmark.statistics.two_level import Estimate
from tests.compare.planted_blocks import NOISES, Noise, estimated, false, pairs, targets, uneven, verdicts

TRUTH = 1.03
TYPICAL, SUMS = 0, 1
MARGIN = 0.01
"""The catalogue's, of total time."""


def covered(found: list[list[Estimate]], place: int) -> float:
    intervals = [pair[place].ratio for pair in found]
    return float(np.mean([one.low <= TRUTH <= one.high for one in intervals]))


def false_reports(found: list[list[Estimate]], margin: float) -> float:
    return float(np.mean([false(verdicts(one, margin)) for one in found]))


@pytest.mark.parametrize("noise", NOISES)
def test_intervals_of_five_processes_cover_the_truth(noise: str) -> None:
    # 150 pairs: 95 % give or take 1.8 %.
    found = list(pairs(NOISES[noise], 5, 150, TRUTH, seed=1))
    assert 0.90 <= covered(found, TYPICAL) <= 0.995
    assert 0.90 <= covered(found, SUMS) <= 0.995


@pytest.mark.parametrize("noise", ["blocks", "processes", "both"])
def test_equal_targets_get_no_verdict_of_better_or_worse(noise: str) -> None:
    assert false_reports(list(pairs(NOISES[noise], 5, 100, 1.0, seed=2)), MARGIN) <= 0.05


@pytest.mark.slow
@pytest.mark.parametrize("noise", NOISES)
def test_of_400_pairs_a_planted_three_percent_is_found_and_covered_and_equal_ones_are_told_apart_in_at_most_20(
    noise: str,
) -> None:
    """122 blocks in three clusters, 5 processes per side, 1 % noise: what the rates of `make bench` print."""
    planted = list(pairs(NOISES[noise], 5, 400, TRUTH, seed=1))
    # 95 % give or take 1.1 %; three of those are allowed for. The 2,000 pairs below are held to 93 to 97 %.
    assert abs(covered(planted, TYPICAL) - 0.95) <= 3 * 0.011
    assert abs(covered(planted, SUMS) - 0.95) <= 3 * 0.011
    said = [verdicts(pair[:1], MARGIN)[0] for pair in planted]
    assert said.count("worse") >= 0.93 * len(said)
    assert "better" not in said
    equal = list(pairs(NOISES[noise], 5, 400, 1.0, seed=2))
    assert false_reports(equal, MARGIN) <= 0.05
    assert false_reports(equal, 0.0) <= 0.05
    for place in (TYPICAL, SUMS):
        assert false_reports([pair[place : place + 1] for pair in equal], MARGIN) <= 0.05


@pytest.mark.slow
@pytest.mark.parametrize("processes", [5, 10])
@pytest.mark.parametrize("noise", NOISES)
def test_rates_of_2_000_pairs_are_those_of_the_level(noise: str, processes: int) -> None:
    # 95 % and 5 % give or take .5 %; three of those are allowed for.
    planted = list(pairs(NOISES[noise], processes, 2_000, TRUTH, seed=1))
    for place in (TYPICAL, SUMS):
        assert 0.93 <= covered(planted, place) <= 0.97, f"{covered(planted, place):.1%}"
    equal = list(pairs(NOISES[noise], processes, 2_000, 1.0, seed=2))
    for place in (TYPICAL, SUMS):
        alone = false_reports([pair[place : place + 1] for pair in equal], 0.0)
        assert alone <= 0.05 + 3 * 0.005, f"one test without a margin: {alone:.1%}"
    assert false_reports(equal, 0.0) <= 0.05
    assert false_reports(equal, MARGIN) <= 0.05


@pytest.mark.slow
@pytest.mark.parametrize("noise", NOISES)
def test_at_most_one_report_in_twenty_on_nine_equal_targets_has_a_false_verdict(noise: str) -> None:
    assert _false_of_nine(NOISES[noise], 200) <= 0.05


@pytest.mark.slow
@pytest.mark.parametrize(
    "blocks",
    [
        pytest.param(
            50,
            marks=pytest.mark.xfail(
                strict=True, raises=AssertionError, reason="five tens: 5.1 % and 5.6 %, docs/ledger.md"
            ),
        ),
        120,
        400,
    ],
)
def test_of_2_000_pairs_whose_blocks_answer_alike_by_tens_at_most_one_in_twenty_is_told_apart(blocks: int) -> None:
    """Both by the typical block and by sums, of which a fifth of the blocks holds four fifths; 95 % give or take .5 %."""
    for covers, told_apart in _alike_by_tens(blocks):
        assert 0.935 <= covers <= 0.99, f"{covers:.1%}"
        assert told_apart <= 0.05, f"{told_apart:.1%}"


@pytest.mark.slow
def test_of_2_000_pairs_over_five_tens_no_more_are_told_apart_than_the_docs_say() -> None:
    """docs/ledger.md: sums cover 92.7 %, and 5.1 % and 5.6 % are told apart; give or take three times .5 %."""
    for covers, told_apart in _alike_by_tens(50):
        assert 0.92 <= covers <= 0.99, f"{covers:.1%}"
        assert told_apart <= 0.05 + 3 * 0.005, f"{told_apart:.1%}"


def _alike_by_tens(blocks: int) -> list[tuple[float, float]]:
    """Rates on pairs whose blocks change alike by tens: the share whose interval covers no difference, and the share called different, by the typical block and by sums."""
    found = [
        estimated(*uneven(np.random.default_rng([2026, index]), "ten alike", (5, 5), blocks)) for index in range(2_000)
    ]
    shares = []
    for place in (TYPICAL, SUMS):
        covers = np.array([pair[place].ratio.low <= 1 <= pair[place].ratio.high for pair in found])
        judged = np.array([pair[place].effective >= LEAST_EFFECTIVE for pair in found])
        shares.append((float(covers.mean()), float((judged & ~covers).mean())))
    return shares


def _false_of_nine(noise: Noise, reports: int) -> float:
    """16 tests a report: eight candidates by both estimators, without a margin."""
    draws, tested = np.random.default_rng(2026), []
    for _ in range(reports):
        baseline, *others = targets(draws, noise, [1.0] * 9)
        tested.append([one for other in others for one in estimated(baseline, other)])
    return false_reports(tested, 0.0)
