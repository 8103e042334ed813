"""The action that measures: its commands, run as GitHub runs them, give a summary and the folders that the other action takes."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from slotmark.run import open_runs
from tests.conftest import REPO
from tests.made_up_runs import write_run

RATES = [1000.0, 1010.0, 990.0, 1005.0, 995.0, 1002.0]


@pytest.mark.parametrize("sides", [("runs/base", "runs/head"), ("runs/base-1,runs/base-2", "runs/head")])
def test_its_steps_compare_and_collect_both_sides(tmp_path: Path, sides: tuple[str, str]) -> None:
    for number, name in enumerate(path for side in sides for path in side.split(",")):
        rates = [rate + number for rate in RATES]
        write_run(tmp_path / "made" / Path(name).name, "client", {"decode, sequential": rates}, session=name)
    program = tmp_path / "bin" / "slotmark"
    program.parent.mkdir()
    program.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m slotmark "$@"\n')
    program.chmod(0o755)
    (tmp_path / "ci.toml").write_text("[metrics]\n")
    (tmp_path / "temporary").mkdir()
    given = {
        "run": 'echo "measures $BASE_COMMIT"; cp -r made runs',
        "base": sides[0],
        "head": sides[1],
        "policy": "ci.toml",
    }
    variables = {
        **os.environ,
        "PATH": f"{program.parent}{os.pathsep}{os.environ['PATH']}",
        "RUNNER_TEMP": str(tmp_path / "temporary"),
        "GITHUB_ACTION_PATH": str(REPO),
        "GITHUB_STEP_SUMMARY": str(tmp_path / "summary"),
        "GITHUB_OUTPUT": str(tmp_path / "output"),
        "BASE_COMMIT": "0123",
    }
    action = yaml.safe_load((REPO / "action.yml").read_text())
    defaults = {name: one.get("default", "") for name, one in action["inputs"].items()}
    known = {f"inputs.{name}": value for name, value in (defaults | given).items()}
    for step in (step for step in action["runs"]["steps"] if "run" in step):
        own = {
            name: re.sub(r"\$\{\{ (.*?) \}\}", lambda one: known[one[1]], text)
            for name, text in step.get("env", {}).items()
        }
        command = ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", step["run"]]
        done = subprocess.run(
            command, cwd=tmp_path, env={**variables, **own}, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, f"{step['name']}: {done.stderr}"
    several = "," in sides[0]  # of clients, a side is one run: that is refused, and no fault of the change
    assert bool(re.search(r"(?m)^# (SHIP|RUN AGAIN) head", (tmp_path / "summary").read_text())) is not several
    assert re.fullmatch(r"code=2\n" if several else r"code=[03]\n", (tmp_path / "output").read_text())
    collected = tmp_path / "temporary" / "slotmark-runs"
    assert sorted(path.name for path in collected.iterdir()) == ["base", "head"]
    assert [len(open_runs(collected / side)) for side in ("base", "head")] == [len(side.split(",")) for side in sides]
