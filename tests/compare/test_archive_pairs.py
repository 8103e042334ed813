"""Two runs of one build in the published archive, held against each other by what the other pairs show: nothing of that may hold."""

from pathlib import Path

import numpy as np
import pytest
from benchmarks.statistics.reference_52 import OUT, PAIRS, cells, table

from slotmark.compare import Comparison, Policy, Side
from slotmark.compare.compare import judged
from slotmark.compare.deciding.decision import decide
from slotmark.compare.estimators.means import Levels, RunRow, compared
from slotmark.compare.run_to_run.prior import Prior
from slotmark.compare.run_to_run.spread_table import SpreadTable, spread_table_text
from slotmark.metrics import Metric, catalogue
from slotmark.statistics.between_runs import RunMean
from tests.compare.planted_runs import CONFIDENCE, manifest_of

REPO = Path(__file__).parents[2]


@pytest.fixture
def archive(shared: Path) -> Path:
    return shared / "published" / "releases"


def test_the_shipped_table_is_what_the_archive_gives(archive: Path) -> None:
    assert spread_table_text(table(archive)) == (REPO / OUT).read_text(encoding="utf-8")


def holds(levels: dict[str, tuple[float, float]], known: SpreadTable) -> bool:
    """Returns whether the second run is held against the first; of the decisive metrics the archive has all but the hosts that adopted."""
    rows = [
        RunRow(
            metric,
            "",
            [None, None],
            "log",
            [Levels([RunMean(float(np.log(one)))], 0.0) for one in levels[metric.id]],
            [None],
        )
        for metric in decisive()
        if metric.id in levels
    ]
    made, tests = judged(compared(rows, Prior(table=known), CONFIDENCE), CONFIDENCE)
    decision = decide(
        Comparison(
            bench="cluster",
            baseline=Side("one", manifest_of("one", "one")),
            candidates=[Side("other", manifest_of("other", "other"))],
            rows=made,
            tests=tests,
            confidence=CONFIDENCE,
            repetitions=0,
            seed=1,
            warnings=[],
        ),
        [row.metric for row in rows],
        Policy(warnings=()),
    )
    assert decision is not None
    return decision.answer == "hold"


def decisive() -> list[Metric]:
    return [metric for metric in catalogue("cluster").metrics if metric.rank == "decisive"]


def levels_of(archive: Path, pair: tuple[str, int, str, int]) -> dict[str, tuple[float, float]]:
    ours, theirs = cells(archive, *pair[:2]), cells(archive, *pair[2:])
    return {
        metric.id: (float(ours[metric.name]), float(theirs[metric.name]))
        for metric in decisive()
        if metric.name in ours and metric.name in theirs
    }


def test_of_ten_pairs_left_out_one_at_a_time_at_most_one_holds(archive: Path) -> None:
    """In either order of the two runs: which was first is no fact of the build."""
    held = []
    for place, pair in enumerate(PAIRS):
        levels = levels_of(archive, pair)
        assert len(levels) == 3
        known = table(archive, leave_out=place)
        turned = {name: (other, one) for name, (one, other) in levels.items()}
        held.append(holds(levels, known) or holds(turned, known))
    assert sum(held) <= 1


def test_a_plain_regression_is_held_by_the_same_table(archive: Path) -> None:
    """The control: a table that held nothing would pass the test above."""
    known = table(archive)
    assert holds({"slot_to_announced": (0.07, 0.07 * 1.5), "adopted_by_096": (1.0, 1.3)}, known)
    narrow = known.metric[[one.id for one in known.metric].index("slot_to_announced")]
    assert narrow.sd > 0.04


def test_runs_of_one_build_bound_what_a_model_of_adoption_can_reach(archive: Path) -> None:
    """The figures of docs/simulator.md: a model that knew a build exactly would be off by what one run is."""
    centiles = [metric.name for metric in catalogue("cluster").metrics if metric.name.endswith(" adoption")]
    farthest = []
    for one, i, other, j in PAIRS:
        ours, theirs = cells(archive, one, i), cells(archive, other, j)
        apart = [
            abs(np.log(float(theirs[name]) / float(ours[name])))
            for name in centiles
            if {name} <= ours.keys() & theirs.keys()
        ]
        assert len(apart) == 8
        farthest.append(max(apart))
    assert sum(one <= 0.03 for one in farthest) == 4
    assert sorted(round(100 * one, 1) for one in farthest)[-2:] == [6.0, 6.8]
    assert [sum(one / np.sqrt(2) <= limit for one in farthest) for limit in (0.03, 0.05)] == [6, 10]
