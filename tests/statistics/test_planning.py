"""Differences that a design can find, against the tables that were worked out for the 2023 study's data, and against simulation."""

import numpy as np
import pytest
from scipy import stats

from slotmark.statistics.planning import detectable_between, detectable_change, deviation_range, power, runs_needed

# In percent, 80 % power, two-sided t on process means at .05: by standard deviation between processes, then processes per side.
BETWEEN_RUNS = {
    0.005: {2: 2.8, 3: 1.5, 5: 1.0, 10: 0.66, 20: 0.46, 30: 0.37},
    0.01: {2: 5.7, 3: 3.1, 5: 2.0, 10: 1.3, 20: 0.91, 30: 0.74},
    0.02: {2: 11.3, 3: 6.2, 5: 4.1, 10: 2.7, 20: 1.8, 30: 1.5},
}


@pytest.mark.parametrize("deviation", BETWEEN_RUNS)
def test_the_table_of_detectable_changes(deviation: float) -> None:
    for runs, percent in BETWEEN_RUNS[deviation].items():
        found = detectable_change(deviation * np.sqrt(2 / runs), 2 * (runs - 1))
        assert 100 * found == pytest.approx(percent, rel=0.03), runs


def test_the_studys_change_needs_three_processes_at_one_percent_and_six_at_two() -> None:
    assert (runs_needed(0.036, 0.01), runs_needed(0.036, 0.02)) == (3, 6)


def test_power_is_how_often_a_t_test_finds_the_change() -> None:
    draws = np.random.default_rng(1)
    sides = draws.normal(0, 1, (4_000, 5)), draws.normal(2, 1, (4_000, 5))
    found = (np.asarray(stats.ttest_ind(*sides, axis=1)[1]) < 0.05).mean()
    assert power(2, np.sqrt(2 / 5), 8, 0.05) == pytest.approx(found, abs=0.025)


def test_needed_processes_find_the_change_and_one_less_does_not() -> None:
    runs = runs_needed(0.02, 0.015)
    assert runs is not None
    assert detectable_change(0.015 * np.sqrt(2 / runs), 2 * (runs - 1)) <= 0.02
    assert detectable_change(0.015 * np.sqrt(2 / (runs - 1)), 2 * (runs - 2)) > 0.02


def test_no_number_of_processes_makes_up_for_too_few_blocks() -> None:
    assert runs_needed(0.01, 0.01, error_of_blocks=0.01) is None
    assert runs_needed(0.01, 0.0, error_of_blocks=0.001) == 2


@pytest.mark.parametrize("runs", [3, 5, 10])
def test_the_change_that_welchs_test_finds_is_found_four_times_in_five(runs: int) -> None:
    change = detectable_between(float(np.sqrt(2 / runs)), runs)
    draws = np.random.default_rng(runs)
    sides = draws.normal(0, 1, (8_000, runs)), draws.normal(change, 1, (8_000, runs))
    found = (np.asarray(stats.ttest_ind(*sides, axis=1, equal_var=False)[1]) < 0.05).mean()
    assert found == pytest.approx(0.8, abs=0.02)
    assert detectable_between(0.0, runs) == 0


def test_the_range_of_a_deviation_holds_it_as_often_as_is_stated() -> None:
    draws = np.random.default_rng(5)
    found = [deviation_range(float(one.std(ddof=1)), 9, 0.9) for one in draws.normal(0, 2, (4_000, 10))]
    assert np.mean([one.low <= 2 <= one.high for one in found]) == pytest.approx(0.9, abs=0.015)
