"""RUN AGAIN names how many more runs it takes: tried, that many decide about four times in five."""

import numpy as np
import pytest

from slotmark.compare.estimators import Entry, Measured
from slotmark.compare.results.decision import Decision
from slotmark.metrics import Metric
from tests.compare.planted_decisions import MARGIN, decided, difference_of_runs

METRIC = Metric(
    id="planted",
    name="Planted",
    unit="s",
    better="lower",
    rank="decisive",
    grain=("block",),
    margin=MARGIN,
    estimator="rounds",
    definition="Planted.",
)


def tried_with(draws: np.random.Generator, runs: int, truth: float, deviation: float) -> tuple[Decision, Measured]:
    """The decision from so many runs per side, and the difference that it rests on."""
    ours, theirs = (
        level + deviation * draws.standard_normal((runs, 1)) + np.zeros((runs, 20)) for level in (1.0, truth)
    )
    measured = difference_of_runs(list(ours), list(theirs), runs, runs)
    entry = Entry(metric=METRIC, quantity="mean", summaries=[None, None], measured=[measured])
    return decided([entry]), measured


@pytest.mark.parametrize("runs", [3, 5, 10])
@pytest.mark.parametrize("noise", [0.5, 1.0])
def test_as_many_runs_as_it_names_decide_four_times_in_five(runs: int, noise: float) -> None:
    """With the difference that was seen as the truth, which is what the number is planned for."""
    draws = np.random.default_rng(5)
    deviation = noise * MARGIN / np.sqrt(2 / runs)
    tried = decided = 0
    for _ in range(200):
        first, measured = tried_with(draws, runs, 1.0, deviation)
        needed = first.causes[0].needed if first.causes else None
        if first.answer != "run again" or needed is None or needed.total > 2_000:
            continue
        assert measured.ratio is not None
        again, _ = tried_with(draws, needed.total, measured.ratio.estimate, deviation)
        tried += 1
        decided += again.answer != "run again"
    assert tried > 100
    # Of 800 reports it is 70 to 78 %; of 200 that is good to 6 %.
    assert 0.65 <= decided / tried <= 0.88
