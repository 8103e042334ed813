"""The search for a commit: its probabilities against sums over all cases, and how often it is right about planted changes."""

import numpy as np
import pytest
from benchmarks.history.bisections import NOISES, searched
from scipy import integrate

from slotmark.statistics.bisection import LEAST, next_place, posterior, runs_left, splits


def test_probabilities_are_those_of_integrals() -> None:
    """By quadrature over both levels and the logarithm of the standard deviation, of which the module has the closed form."""
    places, levels = [0, 1, 1, 2, 3, 3], [0.1, 0.0, 0.4, 1.3, 0.9, 1.2]
    at, values = np.array(places), np.array(levels)

    def weight(first: int) -> float:
        def of_scale(log_scale: float) -> float:
            scale = np.exp(log_scale)
            found = 1.0
            for side in (values[at < first], values[at >= first]):
                grid = np.linspace(-30, 30, 6_001)
                density = np.exp(-((side[:, None] - grid) ** 2).sum(axis=0) / (2 * scale**2)) / scale ** len(side)
                found *= integrate.trapezoid(density, grid)
            return found

        return integrate.quad(of_scale, -6, 6, limit=200)[0]

    weights = np.array([weight(first) for first in (1, 2, 3)])
    assert posterior(places, levels, 3) == pytest.approx(weights / weights.sum(), abs=2e-4)


def test_runs_that_do_not_vary_leave_one_commit() -> None:
    found = posterior([0, 1, 2, 3, 3], [5.0, 5.0, 5.0, 6.0, 6.0], 3)
    assert found.argmax() == 2
    assert found[2] > 0.99


def test_levels_may_be_anywhere() -> None:
    """Adding to all levels or scaling them changes no probability: also far from 0, where sums of squares lose digits."""
    places, levels = [0, 0, 2, 4, 4], np.array([0.1, 0.3, 0.2, 1.1, 1.4])
    usual = posterior(places, levels.tolist(), 4)
    assert posterior(places, (7 + 1e-4 * levels).tolist(), 4) == pytest.approx(usual, abs=1e-6)
    assert posterior(places, (-levels).tolist(), 4) == pytest.approx(usual)


def test_commits_that_can_not_be_run_stay_together() -> None:
    found = np.array([0.1, 0.2, 0.3, 0.25, 0.15])
    assert [(one.first, one.last, round(one.probability, 2)) for one in splits(found, {2, 3})] == [
        (1, 1, 0.1),
        (2, 4, 0.75),
        (5, 5, 0.15),
    ]


def test_the_next_run_is_where_it_is_decided() -> None:
    places = [0, 4, 0, 4]
    assert next_place(places, np.array([0.1, 0.3, 0.3, 0.3]), set(), 0.95) == 2
    assert next_place(places, np.array([0.1, 0.3, 0.3, 0.3]), {2}, 0.95) in (1, 3)
    # What is sure is confirmed on both sides: a single run may be a spike.
    found = np.array([0.0, 0.99, 0.01, 0.0])
    assert next_place(places, found, set(), 0.95) == 1
    assert next_place([*places, *[1] * LEAST], found, set(), 0.95) == 2
    assert next_place([*places, *[1, 2] * LEAST], found, set(), 0.95) is None
    # One commit alone needs no search.
    assert next_place([0, 1, 0, 1], np.array([1.0]), set(), 0.95) is None


@pytest.mark.parametrize("noise", list(NOISES))
@pytest.mark.parametrize("left_out", [0.0, 0.2])
def test_it_is_right_as_often_as_it_claims(noise: str, left_out: float) -> None:
    draw = np.random.default_rng(3)
    found = [searched(draw, 16, 4.0, NOISES[noise], left_out) for _ in range(40)]
    assert all(one[0] is not None for one in found)
    assert sum(one[0] is True for one in found) >= 38
    assert np.median([one[1] for one in found]) < 40


def test_runs_of_another_commit_are_found_as_wrong_answers() -> None:
    """The control of the rates: each run is of the commit after the one that was asked for."""
    draw = np.random.default_rng(3)
    found = [searched(draw, 16, 3.0, NOISES["normal"], 0.0, lambda place: place + 1 if place else 0) for _ in range(30)]
    assert sum(one[0] is True for one in found) < 6


@pytest.mark.parametrize("noise", list(NOISES))
def test_nothing_is_found_where_nothing_changed(noise: str) -> None:
    draw = np.random.default_rng(3)
    assert [searched(draw, 16, 0.0, NOISES[noise], 0.0, most=60)[0] for _ in range(10)].count(None) == 10


def test_how_many_more_runs_it_takes_is_about_right() -> None:
    draw = np.random.default_rng(5)
    places = [0, 16] * 4
    levels = [float(draw.normal() + (3.0 if place else 0.0)) for place in places]
    assert 6 <= runs_left(places, levels, 16, set(), 0.975, 1) <= 30
    assert runs_left(places, levels, 16, set(), 0.975, 1) == runs_left(places, levels, 16, set(), 0.975, 1)
