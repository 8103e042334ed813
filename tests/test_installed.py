"""The package as others install it: into an environment of its own, outside the checkout, with nothing of the checkout at hand."""

import os
import re
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.side_by_side import machines_network

ROOT = Path(__file__).parents[1]
UV = ROOT / ".build" / "bootstrap" / "bin" / "uv"

Command = Callable[..., "subprocess.CompletedProcess[str]"]


@pytest.fixture(scope="module")
def slotmark(tmp_path_factory: pytest.TempPathFactory) -> Command:
    """Runs the installed command in a folder of its own; its exit code must be the expected one."""
    wheels = sorted((ROOT / ".build" / "wheels").glob("slotmark-*.whl"), key=lambda file: file.stat().st_mtime)
    if not wheels or not UV.exists():
        pytest.skip("no wheel in .build/wheels: run make wheel")
    place = tmp_path_factory.mktemp("elsewhere")
    pins = place / "pins.txt"
    locked = re.findall(r"^[a-z0-9_.-]+==.*?(?= *\\?$)", (ROOT / "requirements.lock").read_text(), re.MULTILINE)
    pins.write_text("\n".join(locked) + "\n")
    subprocess.run([UV, "venv", "--quiet", place / "venv"], check=True)
    python = place / "venv" / "bin" / "python"
    install = [UV, "pip", "install", "--quiet", "--constraint", pins, "--python", python, wheels[-1]]
    with machines_network():
        subprocess.run(install, check=True)
    alone = {name: value for name, value in os.environ.items() if not name.startswith(("SLOTMARK_", "PYTHON"))}

    def run(*arguments: str, code: int = 0) -> "subprocess.CompletedProcess[str]":
        command = [place / "venv" / "bin" / "slotmark", *arguments]
        done = subprocess.run(command, cwd=place, env=alone, capture_output=True, text=True, check=False)
        assert done.returncode == code, done.stderr
        return done

    return run


def test_a_cluster_is_simulated_read_and_compared(slotmark: Command) -> None:
    small = (
        "value-only-10.5",
        "--slots",
        "700",
        *(f"--set={one}" for one in ("epoch_slots=100", "network.hosts=8", "network.pools=8")),
    )
    for seed in ("1", "2"):
        slotmark("simulate", *small, "--seed", seed, "-o", f"logs{seed}")
        slotmark("ingest", f"logs{seed}", "-o", f"run{seed}")
    assert "Process CPU" in slotmark("show", "run1").stdout
    slotmark("compare", "run1", "run2", "-o", "report")
    slotmark("check", "run1")


def test_the_clients_inside_run_and_others_are_told_where_they_come_from(slotmark: Command) -> None:
    listed = slotmark("chainsync", "targets").stdout.splitlines()
    assert [line.split()[:2] for line in listed] == [["floor", "ready"], ["native", "ready"]]
    slotmark("chain", "synth", "--workload", "value-only", "--blocks", "100", "-o", "chain")
    slotmark(
        "chainsync",
        "run",
        "--chain",
        "chain",
        "--target",
        "native",
        "--mode",
        "decode",
        "--rounds",
        "2",
        "-o",
        "clients",
    )
    assert "native" in slotmark("show", "clients/native").stdout
    refused = slotmark("chainsync", "run", "--chain", "chain", "--target", "pallas", "-o", "none", code=2)
    assert "--target pallas: no such target. There are floor, native;" in refused.stderr
    assert "SLOTMARK_TARGETS" in refused.stderr


def test_the_replay_engine_inside_runs(slotmark: Command) -> None:
    slotmark("chain", "synth", "--workload", "value-only", "--blocks", "50", "-o", "small")
    slotmark("ledger", "run", "--chain", "small", "--backend", "memory,lsm", "--rounds", "2", "-o", "replays")
    assert "UTxO application" in slotmark("show", "replays/lsm").stdout


def test_the_node_inside_runs(slotmark: Command) -> None:
    slotmark("cluster", "create", "value-only-5", "--hosts", "3", "-o", "bed")
    slotmark("cluster", "run", "bed", "--node", "slotmark", "--network", "loopback", "--for", "2s", "-o", "live")
    slotmark("check", "live")
