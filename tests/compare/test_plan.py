"""A plan keeps its promise: what it says is found four times in five is found so often, over the estimates that it rests on, too."""

from pathlib import Path

import numpy as np
import pytest

from slotmark.compare.estimators import reach as reaching
from slotmark.compare.estimators.reach import Variation, smallest, units_for, variation
from slotmark.compare.matching.sides import builds
from slotmark.compare.plan import plan
from slotmark.errors import ComparisonError
from slotmark.metrics import catalogue
from slotmark.run import Run, open_run
from slotmark.statistics.between_runs import pooled
from slotmark.statistics.mean_difference import Units, mean_difference
from slotmark.statistics.planning import detectable_share, least
from tests.conftest import slotmark

ALPHA = 0.05 / 48
(METRIC,) = [one for one in catalogue("cluster").metrics if one.id == "adopted_by_096"]


def made_up(draws: np.random.Generator, blocks: int, within: float, between: float, level: float = 1.0) -> Units:
    """A run of independent blocks; deviations are shares of its level."""
    off = between * draws.standard_normal()
    return Units(level * (1 + off + within * draws.standard_normal(blocks)), np.ones(blocks))


def runs_for(varies: Variation, change: float) -> int | None:
    return varies.chance and varies.chance.to_find(change, ALPHA)


@pytest.mark.parametrize(
    ("before", "per_side", "blocks", "within", "between"),
    [
        pytest.param(1, 1, 400, 0.05, 0.0, id="one run each"),
        pytest.param(3, 3, 40, 0.001, 0.001, id="three of three"),
        pytest.param(5, 3, 40, 0.002, 0.002, id="three of five"),
        pytest.param(5, 5, 40, 0.002, 0.002, id="five of five"),
        pytest.param(20, 2, 40, 0.0002, 0.0002, id="two of twenty"),
    ],
)
def test_the_smallest_difference_is_found_four_times_in_five(
    before: int, per_side: int, blocks: int, within: float, between: float
) -> None:
    draws = np.random.default_rng(7)
    found = tried = 0
    for _ in range(250):
        earlier = [made_up(draws, blocks, within, between) for _ in range(before)]
        varies = variation(METRIC, "", "blocks", [earlier])
        assert varies is not None
        change = smallest(varies, per_side, ALPHA)
        assert change is not None
        for _ in range(8):
            ours = [made_up(draws, blocks, within, between) for _ in range(per_side)]
            theirs = [made_up(draws, blocks, within, between, 1 + change) for _ in range(per_side)]
            spread = pooled([[run.on("log") for run in side] for side in (ours, theirs)])
            difference = mean_difference(ours, theirs, confidence=0.95, spread=spread, scale="log")
            assert difference is not None
            found += difference.p < ALPHA
            tried += 1
    assert 0.75 <= found / tried <= 0.85


def test_more_runs_find_less_and_the_number_asked_for_is_the_first_that_is_enough() -> None:
    draws = np.random.default_rng(1)
    varies = variation(METRIC, "", "blocks", [[made_up(draws, 100, 0.02, 0.01) for _ in range(4)]])
    assert varies is not None
    found = [smallest(varies, runs, ALPHA) or np.inf for runs in range(2, 12)]
    assert found == sorted(found, reverse=True)
    needed = runs_for(varies, 0.05)
    assert needed is not None
    assert (smallest(varies, needed, ALPHA) or np.inf) <= 0.05 < (smallest(varies, needed - 1, ALPHA) or np.inf)
    assert runs_for(varies, 1e-6) is None
    alone = smallest(varies, 1, ALPHA)
    assert alone is not None
    assert units_for(varies, alone / 2, ALPHA) == pytest.approx(400, abs=1)


def hosts(draws: np.random.Generator, levels: np.ndarray, by: float = 1.0) -> Units:
    """The memory of the same hosts in one more run: each differs by 1 % from its level."""
    names = [(f"node-{place}",) for place in range(levels.size)]
    return Units(
        by * levels * (1 + 0.01 * draws.standard_normal(levels.size)), np.ones(levels.size), ordered=False, works=names
    )


def test_the_same_hosts_are_planned_for_as_they_are_compared() -> None:
    draws = np.random.default_rng(4)
    found = tried = 0
    for _ in range(150):
        levels = np.exp(draws.normal(0, 0.3, 10))
        varies = variation(METRIC, "", "hosts", [[hosts(draws, levels) for _ in range(3)]])
        assert varies is not None
        change = smallest(varies, 1, ALPHA)
        assert change is not None
        assert change < 0.06  # it was above 1
        for _ in range(4):
            compared = mean_difference([hosts(draws, levels)], [hosts(draws, levels, 1 + change)], confidence=0.95)
            assert compared is not None
            assert compared.over == "matched units"
            found += compared.p < ALPHA
            tried += 1
    assert 0.72 <= found / tried <= 0.9


def test_with_one_run_the_variation_between_runs_is_not_known() -> None:
    varies = variation(METRIC, "", "blocks", [[made_up(np.random.default_rng(2), 100, 0.02, 0.01)]])
    assert varies is not None
    assert varies.between is None
    assert varies.repeated == 0
    assert varies.chance is not None and varies.within is not None
    assert varies.chance.at_least
    assert varies.chance.spread.variance == 2 * varies.within.variance


def test_a_run_that_is_too_short_tells_nothing_and_one_at_zero_has_no_share() -> None:
    short = variation(METRIC, "", "blocks", [[made_up(np.random.default_rng(3), 7, 0.02, 0.0)]])
    assert short is not None
    assert (short.within, smallest(short, 1, ALPHA), smallest(short, 3, ALPHA), short.chance) == (None,) * 4
    assert variation(METRIC, "", "blocks", [[Units(np.zeros(10), np.ones(10))]]) is None


def test_without_any_variation_every_difference_is_found_and_with_too_much_none_is() -> None:
    assert detectable_share(0.0, 2, 2, 0.05) == 0
    assert detectable_share(5.0, 1, 1, 0.001) == np.inf


def test_decisive_metrics_have_four_fifths_of_the_error_rate() -> None:
    """Two that decide share 4 %, eight others 1 %; where none decides, all have as much."""
    others = catalogue("cluster")["peer_announced"]
    assert [reaching.Tests(10, 2, 0.95).level(one) for one in (METRIC, others)] == pytest.approx([0.02, 0.00125])
    assert [reaching.Tests(10, 0, 0.95).level(one) for one in (METRIC, others)] == pytest.approx([0.005, 0.005])


def test_least_is_the_first_that_is_enough() -> None:
    assert [least(lambda one, first=first: one >= first, 50) for first in (2, 3, 49, 50, 51)] == [2, 3, 49, 50, None]


@pytest.fixture(scope="module")
def small_runs(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """Two runs of a small simulated cluster."""
    folder = tmp_path_factory.mktemp("planned")
    small = ["--slots", "700", "--set", "epoch_slots=100", "--set", "network.hosts=6", "--set", "network.pools=6"]
    for seed in ("1", "2"):
        simulated = slotmark(
            "simulate", "value-only-10.5", *small, "--seed", seed, "--direct", "-o", folder / f"run-{seed}"
        )
        assert simulated.returncode == 0, simulated.stderr
    return [folder / "run-1", folder / "run-2"]


def test_a_plan_of_one_run_and_of_two(small_runs: list[Path]) -> None:
    one, two = (
        plan(builds([open_run(run) for run in runs]), detect={"adopted_by_096": 0.02})
        for runs in (small_runs[:1], small_runs)
    )
    assert one.planned and two.planned
    assert (one.planned.repeated, two.planned.repeated) == (0, 2)
    assert [effort.at_least for effort in (one.decision[0], two.decision[0])] == [True, False]
    # Of simulated runs time is none of anybody's, and there is no day that rounds would take out.
    assert (two.decision[0].design, two.decision[0].takes_s, two.unknown) == ("runs", None, [])
    for found in (one, two):
        assert found.planned
        (wanted,) = found.wanted
        assert wanted.over == "blocks"
        assert wanted.change == 0.02
        assert found.planned.tests == len(found.planned.reaches) > 20
        assert all(len(reach.smallest) == len(found.planned.runs) for reach in found.planned.reaches)
    reach = next(reach for reach in two.planned.reaches if reach.metric.id == "adopted_by_096")
    assert reach.within is not None
    assert reach.between is not None
    assert reach.between >= reach.within


def test_plan_prints_an_answer_and_writes_a_report(small_runs: list[Path], tmp_path: Path) -> None:
    printed = slotmark("plan", *small_runs, "--detect", "adopted_by_096=2%", "-o", tmp_path / "out").stdout
    assert "To find a difference of 2 % in 0.96 adoption:" in printed
    assert "estimated from 2 runs" in printed
    assert sorted(file.name for file in (tmp_path / "out").iterdir()) == [
        "report-short.md", "report-sources.csv", "report.html", "report.json", "report.md", "report.pdf",
    ]  # fmt: skip
    assert "is unknown" in slotmark("plan", small_runs[0]).stdout


def test_every_cluster_report_has_it(small_runs: list[Path], tmp_path: Path) -> None:
    compared = slotmark("compare", *small_runs, "-o", tmp_path / "out")
    assert compared.returncode == 0, compared.stderr
    assert "How large a run must be" in (tmp_path / "out" / "report.md").read_text()


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--detect", "adopted_by_096"], "expected METRIC=SHARE"),
        (["--detect", "adopted_by_096=much"], "expected a share"),
        (["--detect", "adopted_by_096=0"], "a share above 0"),
        (["--detect", "adopted_by_96=2%"], "Did you mean 'adopted_by_096'?"),
    ],
)
def test_what_cannot_be_planned_is_refused_in_one_line(small_runs: list[Path], arguments: list[str], said: str) -> None:
    ended = slotmark("plan", small_runs[0], *arguments)
    assert ended.returncode == 2
    assert said in ended.stderr
    assert len(ended.stderr.splitlines()) == 1


def test_runs_that_are_one_run_count_once(small_runs: list[Path]) -> None:
    run: Run = open_run(small_runs[0])
    with pytest.raises(ComparisonError, match="named twice"):
        plan([[run, run]])
