"""Intervals over processes and blocks: what they hold, and that they cover what was planted."""

from itertools import starmap

import msgspec
import numpy as np
import pytest

from slotmark.statistics.block_ratio import Part, block_log_ratios, total_ratio, typical_ratio
from slotmark.statistics.dependence import LEAST_EFFECTIVE
from slotmark.statistics.hodges_lehmann import hodges_lehmann
from slotmark.statistics.two_level import Estimate, hierarchical
from tests.compare.planted_blocks import NOISES, Noise, recorded, uneven
from tests.compare.planted_courses import ten_alike


def typical(baseline: np.ndarray, candidate: np.ndarray) -> Estimate:
    return hierarchical(typical_ratio([Part(-1, baseline), Part(1, candidate)]), confidence=0.95)


def total(baseline: np.ndarray, candidate: np.ndarray) -> Estimate:
    return hierarchical(total_ratio(baseline, candidate), confidence=0.95)


def test_the_typical_ratio_is_hodges_lehmann_of_the_blocks_log_ratios() -> None:
    baseline, candidate = recorded(np.random.default_rng(1), NOISES["both"], truth=1.03)
    logs = block_log_ratios([Part(-1, baseline), Part(1, candidate)])
    assert logs == pytest.approx(np.log(candidate).mean(axis=0) - np.log(baseline).mean(axis=0))
    assert typical(baseline, candidate).log == pytest.approx(hodges_lehmann(logs))


def test_the_total_ratio_is_that_of_sums() -> None:
    baseline, candidate = recorded(np.random.default_rng(2), NOISES["both"], truth=0.9)
    assert total(baseline, candidate).ratio.estimate == pytest.approx(
        candidate.mean(axis=0).sum() / baseline.mean(axis=0).sum()
    )


@pytest.mark.parametrize("estimator", [typical, total])
def test_swapping_the_sides_inverts_the_ratio(estimator) -> None:
    baseline, candidate = recorded(np.random.default_rng(3), NOISES["both"], truth=1.03)
    there, back = estimator(baseline, candidate), estimator(candidate, baseline)
    assert back.ratio.estimate == pytest.approx(1 / there.ratio.estimate)
    assert (back.error, back.p) == pytest.approx((there.error, there.p), rel=1e-6)


@pytest.mark.parametrize("estimator", [typical, total])
def test_the_unit_of_cost_does_not_matter(estimator) -> None:
    baseline, candidate = recorded(np.random.default_rng(4), NOISES["both"], truth=1.03)
    one, other = estimator(baseline, candidate), estimator(1e3 * baseline, 1e3 * candidate)
    assert (one.ratio.low, one.ratio.high, one.p) == pytest.approx(
        (other.ratio.low, other.ratio.high, other.p), rel=1e-9
    )


def test_one_process_a_side_says_nothing_about_processes() -> None:
    baseline, candidate = recorded(np.random.default_rng(5), NOISES["processes"], truth=1.03, processes=1)
    found = typical(baseline, candidate)
    assert found.within_runs_only
    assert found.error_of_runs is None
    assert found.error == found.error_of_blocks


def test_one_process_on_one_side_is_as_good_as_none() -> None:
    baseline, candidate = recorded(np.random.default_rng(6), NOISES["processes"], truth=1.03)
    assert typical(baseline[:1], candidate).within_runs_only
    assert not typical(baseline[:2], candidate).within_runs_only


def test_equal_sides_have_a_ratio_of_exactly_one() -> None:
    cost = np.tile(np.arange(1.0, 123.0), (5, 1))
    for found in (typical(cost, cost), total(cost, cost)):
        assert (found.ratio.low, found.ratio.high, found.p) == (1, 1, 1)


def test_noise_between_processes_is_not_counted_again_with_the_blocks() -> None:
    """Blocks that all change alike spread only by the noise that the processes hold already."""
    alike = recorded(np.random.default_rng(7), NOISES["blocks"], truth=1.03, blocks=2_000)
    assert typical_ratio([Part(-1, alike[0]), Part(1, alike[1])]).noise_share > 0.9
    unlike = recorded(np.random.default_rng(7), NOISES["blocks that answer differently"], truth=1.03, blocks=2_000)
    assert typical_ratio([Part(-1, unlike[0]), Part(1, unlike[1])]).noise_share < 0.3


def test_a_sum_that_few_blocks_decide_has_few_degrees_of_freedom() -> None:
    draws = np.random.default_rng(10)
    even, uneven = np.full(400, 1e4), np.where(np.arange(400) < 8, 1e6, 1e3)
    answers = np.exp(draws.normal(0, 0.05, 400))
    many, few = (total(np.tile(cost, (5, 1)), np.tile(cost * answers, (5, 1))) for cost in (even, uneven))
    assert many.degrees >= 20
    assert few.degrees < 16, "8 blocks hold nearly all of the cost"
    one = np.where(np.arange(400) < 1, 2e6, 1e4)
    assert total(np.full((5, 400), 1e4), np.tile(one, (5, 1))).degrees == pytest.approx(4, rel=0.01), "never fewer"
    # A chi-squared variable with so many degrees of freedom varies as variances of so many draws do.
    effects = uneven * draws.normal(0, 0.05, (4_000, 400))
    variances = effects.var(axis=1, ddof=1)
    assert few.degrees == pytest.approx(2 * variances.mean() ** 2 / variances.var(), rel=0.6)


def test_the_linear_bootstrap_spreads_as_one_that_estimates_anew_each_time() -> None:
    draws = np.random.default_rng(8)
    baseline, candidate = recorded(draws, Noise(0.01, 0.01, 0.03), truth=1.03)
    effects = typical_ratio([Part(-1, baseline), Part(1, candidate)])
    linear = np.array(
        [
            *(side[draws.integers(0, side.size, (4_000, side.size))].mean(axis=1) for side in effects.of_runs),
            effects.of_blocks[draws.integers(0, effects.of_blocks.size, (4_000, effects.of_blocks.size))].mean(axis=1),
        ]
    ).sum(axis=0)
    anew = []
    for _ in range(1_000):
        runs = draws.integers(0, 5, (2, 5))
        blocks = draws.integers(0, 122, 122)
        sides = baseline[runs[0]][:, blocks], candidate[runs[1]][:, blocks]
        anew.append(hodges_lehmann(block_log_ratios([Part(-1, sides[0]), Part(1, sides[1])])))
    assert np.std(linear) == pytest.approx(np.std(anew), rel=0.1)


def test_an_interaction_is_a_ratio_of_ratios() -> None:
    draws = np.random.default_rng(9)
    base = np.exp(draws.normal(10, 1, 300))
    cost = {
        place: factor * base * np.exp(draws.normal(0, 0.005, (5, 300)))
        for place, factor in {(0, 0): 1.0, (0, 1): 1.1, (1, 0): 0.9, (1, 1): 1.1 * 0.9 * 1.05}.items()
    }
    parts = [Part(1 if one == other else -1, cost[one, other]) for one, other in cost]
    found = hierarchical(typical_ratio(parts), confidence=0.95)
    assert found.ratio.low <= 1.05 <= found.ratio.high
    assert found.ratio.high / found.ratio.low < 1.02


def test_a_process_without_a_pause_has_no_level_of_its_own() -> None:
    """Pauses of a collector that did not run in one process: nothing is divided by 0, and the noise share is a number."""
    draws = np.random.default_rng(11)
    baseline, candidate = draws.exponential(50, (2, 4, 200)) * (draws.random((2, 4, 200)) < 0.1)
    baseline[1] = 0
    with np.errstate(all="raise"):
        effects = total_ratio(baseline, candidate)
        found = hierarchical(effects, confidence=0.95)
    assert effects.of_runs[0][1] == 1, "less a baseline that stands for all of its processes with nothing"
    assert 0 <= effects.noise_share <= 1
    assert np.isfinite([found.ratio.low, found.ratio.high, found.p]).all()


@pytest.mark.parametrize("blocks", [120, 1_000])
def test_neighbouring_blocks_that_answer_alike_are_covered(blocks: int) -> None:
    """Ten blocks each change alike, by 2 %: of independent blocks, intervals would cover half as often as they say."""
    draws, covered, judged = np.random.default_rng(12), 0, 0
    for _ in range(200):
        baseline, candidate = recorded(draws, Noise(0.001, 0.005), blocks=blocks)
        candidate = candidate * np.exp(0.02 * ten_alike(draws, 1, blocks))
        found = typical(baseline, candidate)
        covered += found.ratio.low <= 1 <= found.ratio.high
        judged += found.effective >= 4
    assert 0.92 <= covered / 200 <= 0.995
    assert judged >= 100


def test_sums_are_covered_where_blocks_answer_alike_by_tens_and_few_hold_the_cost() -> None:
    """A fifth of 120 blocks holds four fifths of the cost: by their effects on the sum alone, 91 % were covered."""
    found = [total(*uneven(np.random.default_rng([2026, index]), "ten alike", (5, 5), 120)) for index in range(300)]
    covers = np.array([one.ratio.low <= 1 <= one.ratio.high for one in found])
    judged = np.array([one.effective >= LEAST_EFFECTIVE for one in found])
    assert covers.mean() >= 0.95
    assert (judged & ~covers).mean() <= 0.04
    assert judged.mean() >= 0.5, "and it isn't by refusing all of them"


@pytest.mark.parametrize("noise", [NOISES["both"], NOISES["blocks that answer differently"]], ids=["both", "answers"])
def test_sums_over_independent_blocks_lose_nothing_to_the_check_for_correlated_blocks(noise: Noise) -> None:
    draws = np.random.default_rng(15)
    effects = list(starmap(total_ratio, (recorded(draws, noise) for _ in range(300))))
    found = [hierarchical(one, confidence=0.95) for one in effects]
    alone = [hierarchical(msgspec.structs.replace(one, weights=None), confidence=0.95) for one in effects]
    assert all(one.effective >= LEAST_EFFECTIVE for one in found)
    wider = np.array([one.error / other.error for one, other in zip(found, alone, strict=True)])
    assert (wider >= 1).all()
    assert (wider > 1.01).mean() <= 0.03
    assert wider.mean() <= 1.01


@pytest.mark.parametrize(("ours", "theirs"), [(3, 10), (3, 3), (5, 5)])
def test_few_processes_with_skewed_noise_are_covered(ours: int, theirs: int) -> None:
    """Processes are slower than their best by 2 % on average, exponentially: Welch's t alone covers 87 % of 3 against 10."""
    draws, covered = np.random.default_rng(13), 0
    for _ in range(300):
        base = np.exp(draws.normal(10, 1, 60))
        sides = [
            base * np.exp(draws.exponential(0.02, (count, 1)) + draws.normal(0, 0.002, (count, 60)))
            for count in (ours, theirs)
        ]
        found = typical(*sides)
        covered += found.ratio.low <= 1 <= found.ratio.high
    assert covered / 300 >= 0.93


def test_blocks_that_spread_only_by_the_noise_of_three_processes_have_an_interval() -> None:
    """Nearly all of the blocks' variance is the processes': what is left must not decide about degrees of freedom."""
    draws = np.random.default_rng(14)
    for _ in range(100):
        found = typical(*recorded(draws, NOISES["blocks"], processes=3))
        assert found.degrees >= 2
        assert found.ratio.high / found.ratio.low < 1.05
