"""Changes of level: planted ones are found where they are, and noise, spikes and repeated looks make none."""

import numpy as np
import pytest

from slotmark.statistics.between_runs import Spread
from slotmark.statistics.change_points import FIRST, Rules, changes


def one(values: np.ndarray, variances: np.ndarray | None = None, rules: Rules | None = None):
    """The changes of one series."""
    return changes(values[:, None], np.zeros((len(values), 1)) if variances is None else variances[:, None], rules)


def normal(count: int, seed: int = 1) -> np.ndarray:
    return np.random.default_rng(seed).normal(size=count)


@pytest.mark.parametrize("seed", range(4))
def test_a_step_goes_from_new_to_sure_and_never_moves_then(seed: int) -> None:
    values = normal(60, seed)
    values[30:] += 6
    states = [one(values[:count]) for count in range(FIRST, 61)]
    known = dict(zip(range(FIRST, 61), states, strict=True))
    assert [each.state for each in known[31]] == ["new"]
    assert {each.state for each in known[32]} <= {"likely", "new"}
    assert [(each.state, each.first, each.known) for each in known[33]] == [("sure", 30, 32)]
    for count in range(34, 61):
        (settled, *others) = known[count]
        assert settled == known[33][0]
        assert all(each.state != "sure" for each in others)
    assert known[33][0].size == pytest.approx(6, abs=1.5)


def test_spikes_are_never_sure() -> None:
    values = normal(400, 3)
    values[20::40] += np.random.default_rng(4).choice([-50.0, 50.0], 10)
    assert not [each for each in one(values) if each.state == "sure"]


@pytest.mark.parametrize("ratio", [1.0, 3.0])
def test_a_run_counts_by_its_own_interval(ratio: float) -> None:
    """Three runs that are off by much: sure where they are as precise as the others, and not where their own intervals explain it."""
    values, variances = np.concatenate([normal(30), [4.0, 4.0, 4.0]]), np.full(33, 0.25)
    variances[30:] *= ratio**4
    sure = [each for each in one(values, variances) if each.state == "sure"]
    assert bool(sure) == (ratio == 1.0)


def test_equal_runs_have_no_change_and_any_step_of_them_is_one() -> None:
    assert one(np.full(50, 3.0)) == []
    values = np.concatenate([np.full(20, 3.0), np.full(5, 3.1)])
    assert [(each.state, each.first) for each in one(values)] == [("sure", 20)]
    assert one(np.array([1.0])) == one(np.zeros(0)) == []


def test_a_slope_is_a_drift() -> None:
    """Steps that were sure before a slope could be told from them stay steps."""
    kinds = []
    for seed in range(2, 8):
        values = normal(120, seed)
        values += 6 * np.clip((np.arange(120) - 40) / 50, 0, 1)
        found = [each for each in one(values) if each.state == "sure"]
        kinds.append([each.kind for each in found])
        assert 35 <= found[0].first <= found[-1].first < found[-1].last < 100
        # Sizes are those at the time at which each became sure, which the level then leaves behind.
        assert 3.5 <= sum(each.size for each in found) <= 7.5
    assert all(each[-1] == "drift" and each.count("drift") == 1 for each in kinds)
    assert ["drift"] in kinds
    assert ["step", "drift"] in kinds


def test_many_series_share_the_error_rate_and_lack_runs() -> None:
    values = np.random.default_rng(5).normal(size=(200, 20))
    values[100:, 3] += 4
    values[::7, 5] = np.nan
    values[:, 6] = np.nan
    found = changes(values, np.zeros_like(values))
    assert [(each.series, abs(each.first - 100) <= 1) for each in found if each.state == "sure"] == [(3, True)]
    alone = [len([each for each in one(values[:, number]) if each.state == "sure"]) for number in range(20)]
    assert sum(alone) >= 1


def test_runs_that_are_known_later_move_nothing() -> None:
    values = normal(80, 6)
    values[40:] += 5
    late = [10, 39, 41]
    known = [place for place in range(80) if place not in late] + late
    first = changes(values[:, None], np.zeros((80, 1)), known=known[:-3])
    # Places are those of all runs, whatever is known.
    assert [each.first for each in first if each.state == "sure"] == [40]
    found = changes(values[:, None], np.zeros((80, 1)), known=known)
    assert found[0] == first[0]


def test_the_least_runs_and_the_significance_are_settings() -> None:
    values = np.concatenate([normal(40), normal(10, 9) + 4])
    for least in (3, 5, 8):
        (found, *_) = one(values, rules=Rules(least=least))
        assert found.known == 40 + least - 1
    assert all(each.state != "sure" for each in one(values[:43], rules=Rules(significance=1e-12)))


def test_where_it_is_known_what_runs_differ_by_few_runs_are_enough() -> None:
    values = np.array([0.1, -0.1, 8.0, 8.1, 7.9])
    assert one(values) == []
    for spread, states in ((1.0, ["sure"]), (25.0, [])):
        found = changes(values[:, None], np.zeros((5, 1)), spreads=[Spread(spread, 9.0)])
        assert [(each.state, each.first) for each in found] == [(state, 2) for state in states]
