"""Stages that are measured from a run come back as they were simulated, and with them the adoption of blocks."""

from pathlib import Path

import msgspec
import pytest

from slotmark.benches.cluster.bed import create_bed
from slotmark.benches.cluster.direct import simulate_direct
from slotmark.benches.cluster.live.validating import validate
from slotmark.benches.cluster.simulate import load_profile
from slotmark.errors import BedError, RunError
from slotmark.run import Run
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
    for row in found.rows:
        assert row.relative_error == pytest.approx(0, abs=0.1), row


def test_a_run_without_latencies_is_refused_in_a_line(tmp_path: Path) -> None:
    profile = load_profile("value-only-5", ["run.slots=200"])
    run, _ = simulate_direct(profile, 5, tmp_path / "run", nothing)
    manifest = msgspec.structs.replace(run.manifest, parameters={**run.manifest.parameters, "network": "loopback"})
    with pytest.raises(RunError, match="no latencies"):
        validate(Run(run.path, manifest), tmp_path, 100, nothing)


def test_a_run_without_its_bed_is_refused_in_a_line(tmp_path: Path) -> None:
    profile = load_profile("value-only-5", ["run.slots=200"])
    run, _ = simulate_direct(profile, 5, tmp_path / "run", nothing)
    with pytest.raises(BedError, match="bed"):
        validate(run, tmp_path / "nowhere", 100, nothing)
    done = slotmark("cluster", "validate", run.path)
    assert done.returncode == 2
    assert "Traceback" not in done.stderr
    assert len(done.stderr.splitlines()) == 1
