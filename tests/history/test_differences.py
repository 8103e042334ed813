"""Differences of versions by the estimates of a store: against planted ones, and against the runs themselves."""

import numpy as np
import pytest

from slotmark.history import Labels, make_store
from slotmark.history.columns import Column, Estimates, Read
from slotmark.history.decisions import Decisions
from slotmark.history.differences import Difference, differences, reach_of_pair, spread_of
from slotmark.history.series import Group
from slotmark.metrics import catalogue, samples
from slotmark.run import Run
from slotmark.statistics.between_runs import Spread
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


@pytest.mark.parametrize(
    ("before_s", "changes", "deviation", "expected"),
    [
        # 0.0002 s is 2 % of 0.01 s, as the margin; of 0.004 s it is 5 %, within which +3 % with an error of 0.5 % lies.
        (0.010, [0.03], 0.005, [Verdict.WORSE]),
        (0.004, [0.03], 0.005, [Verdict.EQUIVALENT]),
        (0.010, [-0.03], 0.005, [Verdict.BETTER]),
        # An error of 1.5 %: +3.15 % has p = 0.036, and 0.072 as one of two.
        (0.010, [0.0315], 0.015, [Verdict.WORSE]),
        (0.010, [0.0315, 0.0315], 0.015, [Verdict.UNDECIDED] * 2),
    ],
)
def test_margins_and_adjusted_p_values_by_hand(
    before_s: float, changes: list[float], deviation: float, expected: list[Verdict]
) -> None:
    """Two runs of each version, of which it is known how much they differ."""
    metrics = [catalogue("cluster")[name] for name in ("peer_requested", "peer_announced")][: len(changes)]
    columns = {}
    for metric, change in zip(metrics, changes, strict=True):
        levels = np.log(before_s) + np.array([0.0, 0.0, change, change])
        columns[metric.id, ""] = Column("log", levels, np.zeros(4), np.exp(levels))
    rows: list[dict[str, object]] = [{"version": version} for version in ("1", "1", "2", "2")]
    estimates = Estimates(Group("cluster", "node", "work", "machine"), rows, [0, 1, 2, 3], columns)
    spread = Spread(deviation**2, np.inf)
    found = differences(estimates, metrics, dict.fromkeys(columns, spread), [0, 1], [2, 3])
    assert [one.judgement and one.judgement.verdict for one in found] == expected
    for one, change in zip(found, changes, strict=True):
        assert one.before == pytest.approx(before_s)
        assert one.after == pytest.approx(before_s * np.exp(change))
