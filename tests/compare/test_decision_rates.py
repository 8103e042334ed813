"""Rates of wrong decisions on planted reports: docs/decision.md has the rates of many more."""

import pytest

from tests.compare.planted_decisions import TESTS, Bench, Plant, answers, shares


@pytest.mark.parametrize("bench", list(TESTS))
@pytest.mark.parametrize("noise", [0.3, 1.0])
def test_of_sixty_reports_few_are_wrong(bench: Bench, noise: float) -> None:
    # Of 60, five or more come up in 1 % of cases at a rate of 2 %, three or more in 2 % at a rate of 1 %; the seed is fixed.
    assert list(answers(Plant(bench, noise), 60, 7, repetitions=1_000)).count("hold") <= 4
    assert list(answers(Plant(bench, noise, effect=2), 60, 8, repetitions=1_000)).count("ship") <= 2


@pytest.mark.parametrize("bench", ["blocks of a run", "rounds"])
def test_what_is_plain_is_decided(bench: Bench) -> None:
    """Little noise: nothing planted ships, and a large effect holds; a decision that always ran again would be never wrong."""
    little = 0.1 if bench == "blocks of a run" else 0.3
    if bench == "blocks of a run":
        assert list(answers(Plant(bench, little), 30, 9)).count("ship") >= 29
    # Of twenty rounds, one test in five doesn't pass as independent: its interval may hold even what is plain.
    least = 29 if bench == "blocks of a run" else 20
    assert list(answers(Plant(bench, little, effect=8), 30, 10)).count("hold") >= least


@pytest.mark.slow
@pytest.mark.parametrize("noise", [0.3, 1.0, 3.0])
@pytest.mark.parametrize("bench", list(TESTS))
def test_at_most_two_reports_in_a_hundred_hold_in_error_and_one_ships(bench: Bench, noise: float) -> None:
    # 1,000 reports: three standard deviations above 2 % are 3.3 %, above 1 % 1.9 %.
    assert shares(Plant(bench, noise), 1_000)["hold"] <= 0.033
    assert shares(Plant(bench, noise, effect=2), 1_000)["ship"] <= 0.019
