"""Warnings about metrics between two clocks, of a simulated run to which what round trips found is added."""

from collections.abc import Sequence
from pathlib import Path

import msgspec
import pytest

from slotmark.benches.cluster.live.sites.machine_clocks import Offset, clocks_table
from slotmark.benches.cluster.simulating.direct import simulate_direct
from slotmark.benches.cluster.simulating.simulate import load_profile
from slotmark.compare import compare
from slotmark.compare.compare import alone
from slotmark.compare.margins import margin_of
from slotmark.compare.result import Comparison
from slotmark.compare.shown import show_run
from slotmark.metrics import catalogue
from slotmark.run import Run, RunWriter

MS = 1_000_000
KINDS = {"machine_clocks_apart", "machine_clocks_doubtful"}


def simulate(place: Path, seed: int) -> Run:
    profile = load_profile("value-only-10.5", ["hosts=4", "pools=4", "run.slots=300"])
    return simulate_direct(profile, seed, place, lambda *_: None)[0]


@pytest.fixture(scope="module")
def simulated(tmp_path_factory: pytest.TempPathFactory) -> Run:
    return simulate(tmp_path_factory.mktemp("clocks") / "run", 7)


def with_clocks(run: Run, place: Path, *found: tuple[float, float]) -> Run:
    """The run with a look at the clock of each of some machines: how far it was ahead, and the most that this can be wrong by, in ms."""
    looks = [Offset(0, round(ahead * MS), round(wrong * MS), 50) for ahead, wrong in found]
    with RunWriter(place) as writer:
        for name in run.manifest.tables:
            writer.copy(name, run.table_files(name))
        writer.table("machine_clocks", clocks_table({f"machine-{number}": [one] for number, one in enumerate(looks)}))
        return writer.finish(msgspec.structs.replace(run.manifest, origin="measured"))


def warned(found: Comparison) -> dict[str, set[str]]:
    """The kinds of warnings about clocks, each with the ids of the metrics whose rows carry it."""
    return {kind: {row.metric.id for row in found.rows if kind in {one.kind for one in row.warnings}} for kind in KINDS}


def matters_ms(run: Run) -> dict[str, float]:
    """The least difference that matters of each metric that depends on clocks."""
    clocks = catalogue("cluster").clocks
    assert clocks
    return {
        metric.id: 1e3 * margin_of(metric, summary.mean) * summary.mean
        for metric, _, summary in show_run(run).rows
        if metric.id in clocks.metrics
    }


def test_the_catalogue_names_what_there_is() -> None:
    entries = catalogue("cluster")
    assert entries.clocks
    assert all(entries[name].unit == "s" for name in entries.clocks.metrics)
    assert {entries.clocks.least, entries.clocks.most} == KINDS <= set(entries.kinds)
    assert entries.clocks.least in entries.stopping
    assert entries.clocks.most not in entries.stopping


@pytest.mark.parametrize(
    ("clocks", "least", "most"),
    [
        ([(0.0, 0.1)], 0.0, 0.2),
        ([(0.0, 3.0)], 0.0, 6.0),
        ([(4.0, 0.25)], 3.75, 4.25),
        ([(4.0, 0.25), (-40.0, 1.0)], 42.75, 45.25),
        ([(5_000.0, 0.5)], 4_999.5, 5_000.5),
    ],
)
def test_a_metric_carries_a_warning_where_clocks_matter_at_its_size(
    simulated: Run, tmp_path: Path, clocks: Sequence[tuple[float, float]], least: float, most: float
) -> None:
    matters = matters_ms(simulated)
    assert matters["adopted_by_096"] > 2 * matters["slot_started"]  # so that one limit can't be right for both
    found = warned(alone(with_clocks(simulated, tmp_path / "run", *clocks)))
    apart = {name for name, one in matters.items() if one <= least}
    assert found == {
        "machine_clocks_apart": apart,
        "machine_clocks_doubtful": {name for name, one in matters.items() if one <= most} - apart,
    }


def test_clocks_that_were_not_compared_or_are_near_are_not_warned_of(simulated: Run, tmp_path: Path) -> None:
    near = with_clocks(simulated, tmp_path / "near", (0.05, 0.01))
    for run in (simulated, with_clocks(simulated, tmp_path / "none"), near):
        assert not KINDS & {one.kind for one in show_run(run).warnings}
        assert warned(alone(run)) == {kind: set() for kind in KINDS}


def test_nothing_ships_where_clocks_were_too_far_apart_for_what_decides(simulated: Run, tmp_path: Path) -> None:
    matters = matters_ms(simulated)
    decisive = min(
        matters[one.id] for one in catalogue("cluster").metrics if one.id in matters and one.rank == "decisive"
    )
    near = with_clocks(simulated, tmp_path / "near", (0.9 * decisive, 0.01))
    far = with_clocks(simulated, tmp_path / "far", (1.1 * decisive, 0.01))
    other = with_clocks(simulate(tmp_path / "simulated", 8), tmp_path / "other")
    named = {}
    for name, run in (("near", near), ("far", far)):
        found = compare([run, other])
        assert found.decision
        named[name] = {cause.name for cause in found.decision.causes} & KINDS
        assert warned(found)["machine_clocks_apart"]  # a metric that is smaller
    assert named == {"near": set(), "far": {"machine_clocks_apart"}}
    (said,) = (one.text for one in show_run(far).warnings if one.kind == "machine_clocks_apart")
    assert f"at least {1.1 * decisive - 0.01:.3g} ms apart" in said
    assert "Slot start to announced (" in said
