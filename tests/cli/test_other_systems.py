"""The command where the system isn't Linux: what only Linux can do is refused, the rest works."""

import subprocess
import sys
from pathlib import Path

import pytest

from tests.made_up_runs import write_run

ELSEWHERE = """
import os, platform
platform.system = lambda: "Darwin"
del os.sched_getaffinity, os.sched_setaffinity
from slotmark.__main__ import main
main()
"""


def elsewhere(*arguments: str | Path) -> subprocess.CompletedProcess[str]:
    """The command, on a system that tells Python that it is macOS and lacks what Python lacks there."""
    call = [sys.executable, "-c", ELSEWHERE, *map(str, arguments)]
    return subprocess.run(call, capture_output=True, text=True, timeout=240, check=False)


@pytest.mark.parametrize(
    "arguments",
    [
        ["chainsync", "run", "--chain", "chain", "-o", "runs"],
        ["chainsync", "run", "--node-socket", "node.socket", "--follow", "1m", "-o", "runs"],
        ["ledger", "run", "--chain", "chain", "-o", "runs"],
        ["ledger", "noise", "--chain", "chain"],
        ["ledger", "stores", "--store", "memory", "-o", "runs"],
        ["cluster", "clean"],
    ],
    ids=lambda arguments: " ".join(arguments[:3]),
)
def test_measuring_is_refused_in_one_line(arguments: list[str], tmp_path: Path, small_chain: Path) -> None:
    words = [
        str(small_chain) if word == "chain" else str(tmp_path / word) if word == "runs" else word for word in arguments
    ]
    ended = elsewhere(*words)
    assert ended.returncode == 2, ended.stderr
    assert "measures on Linux only, and this is Darwin" in ended.stderr
    assert "Traceback" not in ended.stderr
    assert not (tmp_path / "runs").exists()


def test_runs_are_shown_and_compared(tmp_path: Path) -> None:
    for name in ("a", "b"):
        write_run(tmp_path / name, name, {"decode, sequential": [1_000.0, 1_010.0, 1_020.0]})
    assert elsewhere("show", tmp_path / "a").returncode == 0
    compared = elsewhere("compare", tmp_path / "a", tmp_path / "b", "-o", tmp_path / "out")
    assert compared.returncode == 0, compared.stderr
    assert (tmp_path / "out" / "report.html").is_file()


def test_a_cluster_is_simulated(tmp_path: Path) -> None:
    ended = elsewhere("simulate", "value-only-10.5", "--slots", "200", "--direct", "-o", tmp_path / "run")
    assert ended.returncode == 0, ended.stderr
