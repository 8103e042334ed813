"""What becomes of the workload of a live cluster when nodes lose transactions."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

from slotmark.run import open_run
from tests.cluster.live.machine import of_conductor, skip_without_programs
from tests.conftest import slotmark

PATIENCE_S = 240
"""How long a condition is waited for on a machine that has much else to do."""


def phases(logs: Path) -> list[str]:
    """What the generator has reached so far."""
    said = logs / "generator" / "stdout"
    return [json.loads(line)["phase"] for line in said.read_text().splitlines()] if said.exists() else []


def test_transactions_that_nodes_lose_before_the_load_are_offered_again(tmp_path: Path) -> None:
    skip_without_programs()
    bed, out, logs = tmp_path / "bed", tmp_path / "live", tmp_path / "live.logs"
    made = slotmark("cluster", "create", "value-only-5", "--hosts", "3", "-o", bed)
    assert made.returncode == 0, made.stderr
    options = ["--for", "6s", "--network", "loopback", "--start-in", "5s", "--on-death", "restart", "-o", str(out)]
    command = [sys.executable, "-m", "slotmark", "cluster", "run", str(bed), *options]
    with (tmp_path / "said").open("w+") as said, subprocess.Popen(command, stdout=said, stderr=said) as conductor:
        try:
            end = time.monotonic() + PATIENCE_S
            while "split" not in phases(logs):
                assert conductor.poll() is None, (tmp_path / "said").read_text()
                assert time.monotonic() < end
                time.sleep(0.01)
            # Few of them are in blocks by now; the others are in mempools, which go with their nodes.
            nodes = [pid for pid in of_conductor(conductor.pid) if b"slotmark-node" in program(pid)]
            for pid in nodes:
                os.kill(pid, signal.SIGKILL)
            assert len(nodes) == 3
            assert conductor.wait(PATIENCE_S) == 0, (tmp_path / "said").read_text()
        finally:
            if conductor.poll() is None:
                conductor.terminate()
    assert phases(logs)[:3] == ["signed", "split", "begun"]
    run = open_run(out)
    assert {one.subject for one in run.manifest.warnings if one.kind == "node_died"} == {"node-0", "node-1", "node-2"}
    assert run.manifest.observed["transactions offered"]


def program(pid: int) -> bytes:
    """The name of a process's program; nothing of one that has ended."""
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes().partition(b"\0")[0]
    except OSError:
        return b""
