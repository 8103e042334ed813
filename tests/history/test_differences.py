"""Differences of versions by the estimates of a store: against planted ones, and against the runs themselves."""

import numpy as np
import pytest

from slotmark.history import Labels, make_store
from slotmark.history.columns import Read
from slotmark.history.decisions import Decisions
from slotmark.history.differences import Difference, differences, reach_of_pair, spread_of
from slotmark.metrics import catalogue, samples
from slotmark.run import Run
from slotmark.verdict import Verdict
from tests.history.made import METRIC, levels, made

RUNS = 6
PART = "decode, sequential"


@pytest.fixture(scope="module")
def sides(tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[Run]]:
    """Six runs of each of three versions, of which the last is 8 % slower."""
    folder = tmp_path_factory.mktemp("made")
    of_days = levels(3 * RUNS)
    runs: dict[str, list[Run]] = {"1.0": [], "1.1": [], "1.2": []}
    for day, level in enumerate(of_days):
        version = f"1.{day // RUNS}"
        runs[version].append(made(folder, day, level * (0.92 if version == "1.2" else 1), version=version))
    return runs


@pytest.fixture(scope="module")
def read(sides: dict[str, list[Run]], tmp_path_factory: pytest.TempPathFactory) -> Read:
    store = make_store(tmp_path_factory.mktemp("store") / "store")
    for version, runs in sides.items():
        store.add(runs, Labels(version=version))
    return Read(store, Decisions())


def found(read: Read, before: str, after: str) -> Difference:
    (group,) = read.groups
    metrics = catalogue(group.bench).metrics
    estimates = read.estimates(group, metrics)
    spreads = {key: spread_of(estimates, column, []) for key, column in estimates.columns.items()}
    every = differences(estimates, metrics, spreads, estimates.versions[before], estimates.versions[after])
    return next(one for one in every if one.metric == METRIC)


def test_a_planted_difference_is_worse_and_none_is_not(read: Read) -> None:
    planted, none = found(read, "1.1", "1.2"), found(read, "1.0", "1.1")
    assert planted.ratio is not None and planted.judgement is not None
    assert planted.judgement.verdict == Verdict.WORSE
    assert planted.ratio.low < 0.92 < planted.ratio.high
    assert planted.after / planted.before == pytest.approx(planted.ratio.estimate)
    assert none.ratio is not None and none.judgement is not None
    assert none.ratio.low < 1 < none.ratio.high
    assert none.judgement.verdict not in (Verdict.WORSE, Verdict.BETTER)


def test_the_estimate_is_that_of_the_runs_themselves(read: Read, sides: dict[str, list[Run]]) -> None:
    """Each run counts once, by the median of its rounds."""
    means = {
        version: np.mean([np.log(np.median(samples(run, METRIC).values(PART))) for run in runs])
        for version, runs in sides.items()
    }
    one = found(read, "1.1", "1.2")
    assert one.ratio is not None
    assert one.ratio.estimate == pytest.approx(float(np.exp(means["1.2"] - means["1.1"])))
    assert one.before == pytest.approx(float(np.exp(means["1.1"])))


def test_two_runs_of_one_build_differ_by_less_than_the_reach_of_a_pair_in_most_cases(read: Read) -> None:
    (group,) = read.groups
    estimates = read.estimates(group, [catalogue(group.bench)[METRIC]])
    (column,) = estimates.columns.values()
    spread = spread_of(estimates, column, [])
    assert spread is not None
    of_one = column.levels[: 2 * RUNS]
    pairs = np.abs(of_one[:, None] - of_one[None, :])[np.triu_indices(2 * RUNS, 1)]
    assert 0.85 <= (pairs < reach_of_pair(spread)).mean() <= 1
    planted = abs(column.levels[-1] - column.levels[0])
    assert planted > reach_of_pair(spread)
