"""Stages that are measured from a run come back as they were simulated, and with them the adoption of blocks."""

from pathlib import Path

import msgspec
import pytest

from slotmark.benches.cluster.bed import create_bed
from slotmark.benches.cluster.live.validating import METRICS, validate
from slotmark.benches.cluster.simulating.direct import simulate_direct
from slotmark.benches.cluster.simulating.simulate import load_profile
from slotmark.cli.reports import print_report
from slotmark.cli.validation_table import live_validation_document
from slotmark.errors import BedError, RunError
from slotmark.run import Run
from slotmark.warnings import Warning
from tests.conftest import slotmark

STAGES = {
    "forging.ledger_tick": 7.0,
    "forging.forge": 3.0,
    "peer.header_notice": 6.0,
    "peer.serve": 5.0,
    "peer.adopt": 12.0,
}


def nothing(_done: int, _total: int) -> None:
    """Takes progress."""


def test_what_was_simulated_is_measured_and_simulated_again(tmp_path: Path) -> None:
    settings = [f"{name}.mean={mean_ms}ms" for name, mean_ms in STAGES.items()]
    # Small blocks, which need no second round trip, and hosts of one speed: what validation measures is then all there is.
    settings += ["peer.host_spread=0.0", "peer.receive_per_kb=0ms", "workload.tps=2.0", "workload.refill_tps=2.0"]
    create_bed("value-only-5", tmp_path / "bed", nothing, seed=5, settings=settings)
    profile = load_profile("value-only-5", [*settings, "run.slots=3000"])
    run, _ = simulate_direct(profile, 5, tmp_path / "run", nothing)
    found = validate(run, tmp_path / "bed", 3000, nothing)
    measured = {stage.name: stage.mean_ns / 1e6 for stage in found.stages}
    for name, mean_ms in STAGES.items():
        assert measured[name] == pytest.approx(mean_ms, rel=0.1), name
    assert all(row.difference is not None for row in found.rows)
    assert not [row for row in found.rows if row.verdict == "differs"]
    for row in found.rows:
        assert row.difference is not None
        assert row.difference.estimate == pytest.approx(0, abs=0.1), row
    # Of five hosts, one makes the centiles 0.90 and above: one number, listed once.
    names = [name for row in found.rows for name in row.names]
    assert len(names) == len(METRICS)
    assert any(len(row.names) > 1 for row in found.rows)
    values = [(row.measured, row.simulated) for row in found.rows]
    assert len(set(values)) == len(values)


def test_a_planted_difference_is_found_and_the_warnings_of_the_run_come_last(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    settings = ["peer.host_spread=0.0", "peer.receive_per_kb=0ms"]
    create_bed("value-only-5", tmp_path / "bed", nothing, seed=5, settings=settings)
    # The run's regions are twice as far from each other as those that are simulated beside it.
    pairs = ("eu-central-1,us-east-1", "eu-central-1,ap-southeast-2", "us-east-1,ap-southeast-2")
    slow = load_profile("value-only-5", [*settings, "run.slots=3000", *(f"rtt[{pair}].mean*=2" for pair in pairs)])
    run, _ = simulate_direct(slow, 5, tmp_path / "run", nothing)
    warning = Warning("machine_shared", "Something else ran.")
    shared = Run(run.path, msgspec.structs.replace(run.manifest, warnings=[warning]))
    found = validate(shared, tmp_path / "bed", 3000, nothing)
    assert warning in found.warnings
    by_name = {row.names[0]: row for row in found.rows}
    assert by_name["Fetch duration"].verdict == "differs"
    assert by_name["Fetch duration"].blocks == found.blocks
    print_report(live_validation_document(found), [])
    printed = capsys.readouterr().out
    assert f"Of {len(found.rows)} different numbers over {found.blocks:,} blocks" in " ".join(printed.split())
    assert printed.index(" differ") < printed.index("Something else ran.")


def test_a_run_without_latencies_is_refused_in_a_line(tmp_path: Path) -> None:
    profile = load_profile("value-only-5", ["run.slots=200"])
    run, _ = simulate_direct(profile, 5, tmp_path / "run", nothing)
    manifest = msgspec.structs.replace(run.manifest, parameters={**run.manifest.parameters, "network": "loopback"})
    with pytest.raises(RunError, match="no latencies"):
        validate(Run(run.path, manifest), tmp_path, 100, nothing)


@pytest.mark.parametrize(
    ("settings", "hosts", "said"),
    [
        ([], 3, "has 3 hosts, and .* 5"),
        (["genesis.epoch_slots=600"], 5, "has slots, epochs or a share"),
        (["genesis.active_slot_coefficient=0.5"], 5, "has slots, epochs or a share"),
    ],
)
def test_a_bed_that_is_not_the_run_s_is_refused(tmp_path: Path, settings: list[str], hosts: int, said: str) -> None:
    create_bed("value-only-5", tmp_path / "bed", nothing, hosts=hosts, settings=settings)
    run, _ = simulate_direct(load_profile("value-only-5", ["run.slots=200"]), 5, tmp_path / "run", nothing)
    with pytest.raises(BedError, match=said):
        validate(run, tmp_path / "bed", 100, nothing)


def test_a_run_without_its_bed_is_refused_in_a_line(tmp_path: Path) -> None:
    profile = load_profile("value-only-5", ["run.slots=200"])
    run, _ = simulate_direct(profile, 5, tmp_path / "run", nothing)
    with pytest.raises(BedError, match="bed"):
        validate(run, tmp_path / "nowhere", 100, nothing)
    done = slotmark("cluster", "validate", run.path)
    assert done.returncode == 2
    (line,) = done.stderr.splitlines()
    assert line.endswith("Name the bed of the run with --bed.")
    assert "Errno" not in line
