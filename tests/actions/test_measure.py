"""The action that measures: its commands, run as GitHub runs them, give a summary and the folders that the other action takes."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from slotmark.run import open_runs
from tests.chainsync.conftest import built
from tests.conftest import REPO
from tests.made_up_runs import write_run

RATES = [1000.0, 1010.0, 990.0, 1005.0, 995.0, 1002.0]


def act(tmp_path: Path, run: str, base: str, head: str) -> list[str]:
    """Does the steps of the action as GitHub does, where their condition holds; returns the names of those that were done, and which of them failed."""
    program = tmp_path / "bin" / "slotmark"
    program.parent.mkdir(exist_ok=True)
    program.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m slotmark "$@"\n')
    program.chmod(0o755)
    (tmp_path / "ci.toml").write_text("[metrics]\n")
    (tmp_path / "temporary").mkdir(exist_ok=True)
    variables = {
        **os.environ,
        "PATH": f"{program.parent}{os.pathsep}{os.environ['PATH']}",
        "RUNNER_TEMP": str(tmp_path / "temporary"),
        "GITHUB_ACTION_PATH": str(REPO),
        "GITHUB_STEP_SUMMARY": str(tmp_path / "summary"),
        "GITHUB_OUTPUT": str(tmp_path / "output"),
    }
    action = yaml.safe_load((REPO / "action.yml").read_text())
    given = {name: one.get("default", "") for name, one in action["inputs"].items()}
    given |= {"run": run, "base": base, "head": head, "policy": "ci.toml"}
    known = {f"inputs.{name}": value for name, value in given.items()}
    done = []
    for step in action["runs"]["steps"]:
        name, outcome = step["name"], f"steps.{step.get('id')}.outcome"
        if condition := step.get("if"):
            left, _, right = condition.partition(" != ")
            if known[left] == right.strip("'"):
                known[outcome] = "skipped"
                continue
        code = 0
        if "run" in step:
            own = {
                variable: re.sub(r"\$\{\{ (.*?) \}\}", lambda one: known[one[1]], text)
                for variable, text in step.get("env", {}).items()
            }
            command = ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", step["run"]]
            code = subprocess.run(command, cwd=tmp_path, env={**variables, **own}, check=False).returncode
        assert code == 0 or step.get("continue-on-error"), name
        known[outcome] = "failure" if code else "success"
        done.append(f"{name}, failed" if code else name)
    return done


@pytest.mark.parametrize("sides", [("runs/base", "runs/head"), ("runs/base-1,runs/base-2", "runs/head")])
def test_its_steps_compare_and_collect_both_sides(tmp_path: Path, sides: tuple[str, str]) -> None:
    for number, name in enumerate(path for side in sides for path in side.split(",")):
        rates = [rate + number for rate in RATES]
        write_run(tmp_path / "made" / Path(name).name, "client", {"decode, sequential": rates}, session=name)
    done = act(tmp_path, "cp -r made runs", *sides)
    assert done == ["Install slotmark", "Measure", "Compare", "Collect the runs", "Upload the runs"]
    several = "," in sides[0]  # of clients, a side is one run: that is refused, and no fault of the change
    assert bool(re.search(r"(?m)^# (SHIP|RUN AGAIN) head", (tmp_path / "summary").read_text())) is not several
    assert re.fullmatch(r"code=2\n" if several else r"code=[03]\n", (tmp_path / "output").read_text())
    collected = tmp_path / "temporary" / "slotmark-runs"
    assert sorted(path.name for path in collected.iterdir()) == ["base", "head"]
    assert [len(open_runs(collected / side)) for side in ("base", "head")] == [len(side.split(",")) for side in sides]


@pytest.mark.parametrize("measured", ["cp -r made runs; false", "", "cp -r made runs"])
def test_a_part_of_the_runs_decides_nothing(tmp_path: Path, measured: str) -> None:
    """A change whose last run failed must not ship by the runs before it: with commands that failed, whatever they left, and where a run that is named isn't there."""
    for number, name in enumerate(("base", "head", "head-1")):
        rates = [rate + number for rate in RATES]
        write_run(tmp_path / "made" / name, "client", {"decode, sequential": rates}, session=name)
    whole = measured.endswith("false")
    if not measured:  # the runs are of steps before
        (tmp_path / "made").rename(tmp_path / "runs")
    done = act(tmp_path, measured, "runs/base", "runs/head" if whole else "runs/head-1,runs/head-2")
    if whole:
        assert done == ["Install slotmark", "Measure, failed"]
        assert not (tmp_path / "summary").exists()
    else:
        assert (tmp_path / "output").read_text() == "code=2\n"
        assert "Collect the runs, failed" in done
    assert not (tmp_path / "temporary" / "slotmark-runs").exists()


def test_each_use_in_a_job_collects_its_own_runs(tmp_path: Path) -> None:
    """The artifact of a second bench had the runs of the first one where runs are looked for: its comment and check were those of the first."""
    for number, name in enumerate(("a/base", "a/head", "b/base", "b/head")):
        rates = [rate + number for rate in RATES]
        write_run(tmp_path / "runs" / name, "client", {"decode, sequential": rates}, session=name)
    for bench in ("a", "b"):
        act(tmp_path, "", f"runs/{bench}/base", f"runs/{bench}/head")
        for side in ("base", "head"):
            (collected,) = open_runs(tmp_path / "temporary" / "slotmark-runs" / side)
            (measured,) = open_runs(tmp_path / "runs" / bench / side)
            assert collected.manifest == measured.manifest
    act(tmp_path, "", "runs/a/base", "runs/a/none")
    assert not (tmp_path / "temporary" / "slotmark-runs").exists()


def test_the_commands_of_the_example_measure_both_sides(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Runs what a project copies: with fewer blocks and rounds, and a client of ours as what the project's cargo builds."""
    (client,) = built("native").command
    built("floor")
    example = yaml.safe_load((REPO / "examples" / "pull-requests" / "measure.yaml").read_text())
    given = example["jobs"]["measure"]["steps"][1]["with"]
    run = given["run"].replace("--blocks 2000", "--blocks 60").replace("--rounds 10", "--rounds 2")
    assert run != given["run"]
    work, tools = tmp_path / "work", tmp_path / "tools"
    work.mkdir()
    tools.mkdir()
    cargo = tools / "cargo"
    cargo.write_text(
        "#!/bin/bash\nfolder=.\nfor word; do case $word in */Cargo.toml) folder=${word%/*} ;; esac; done\n"
        f"mkdir -p $folder/target/release && ln -s '{client}' $folder/target/release/client\n"
    )
    cargo.chmod(0o755)
    identity = [f"GIT_{who}_{what}" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")]
    for variable in identity:
        monkeypatch.setenv(variable, "x@example.org")
    monkeypatch.setenv("PATH", f"{tools}{os.pathsep}{os.environ['PATH']}")
    for words in (["init"], *[["commit", "--allow-empty", "--message", of] for of in ("the base", "the change")]):
        subprocess.run(["git", *words, "--quiet"], cwd=work, check=True)
    done = act(work, run, given["base"], given["head"])
    assert done == ["Install slotmark", "Measure", "Compare", "Collect the runs", "Upload the runs"]
    assert re.search(r"(?m)^# (SHIP|HOLD|RUN AGAIN) head", (work / "summary").read_text())
