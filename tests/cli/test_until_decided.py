"""`slotmark compare --until-decided` as a user calls it."""

import json
import shlex
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from slotmark.measure.session import FILE
from slotmark.run import open_run
from tests.conftest import slotmark

Command = Callable[..., "subprocess.CompletedProcess[str]"]

SIMULATE = (
    f"{shlex.quote(sys.executable)} -m slotmark simulate value-only-10.5 --slots 700 --set epoch_slots=100 --set network.hosts=5 "
    "--set network.pools=5 --seed {round} --direct -o {out}"
)
SLOWER = f"{SIMULATE} --set ledger_tick.mean=120ms"


def until(*arguments: str | Path, timeout: float = 240, cwd: Path | None = None) -> "subprocess.CompletedProcess[str]":
    return slotmark("compare", "--until-decided", *arguments, timeout=timeout, cwd=cwd)


@pytest.fixture
def policy(tmp_path: Path) -> Path:
    """Slot start to announced decides alone."""
    file = tmp_path / "release.toml"
    others = "".join(
        f'{one} = {{ rank = "important" }}\n' for one in ("adopted_by_050", "adopted_by_096", "adoption_share")
    )
    file.write_text(f'[metrics]\nslot_to_announced = {{ rank = "decisive" }}\n{others}', encoding="utf-8")
    return file


def test_a_session_of_simulated_rounds_ends_undecided_and_goes_on(policy: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    asked = ["--run-a", SIMULATE, "--run-b", SLOWER, "--budget", "1h", "--policy", policy, "-o", out]
    first = until(*asked, "--rounds-at-most", "1")
    assert first.returncode == 3, first.stderr
    assert first.stdout.splitlines()[-1].startswith(
        "RUN AGAIN b/round-1 (simulated): no verdict on Slot start to announced"
    )
    assert "needs about 4 more paired rounds per side" in first.stdout.splitlines()[-1]
    assert "ended by --rounds-at-most 1; --resume goes on" in first.stderr
    assert (out / FILE).is_file()

    second = until(*asked, "--rounds-at-most", "2", "--resume")
    assert second.returncode == 3, second.stderr
    assert "needs about 3 more paired rounds per side" in second.stdout.splitlines()[-1]
    assert "resumed after round 1" in second.stderr
    assert [open_run(out / side / "round-2").manifest.round for side in "ab"] == [2, 2]
    report = json.loads((out / "report.json").read_text(encoding="utf-8"))
    assert report["confidence"] == 0.99
    assert {"type": "looks", "first": 5, "prior": 2.0} in report["details"]
    assert "confidence sequence" in (out / "report.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("as_pipe", [True, False])
def test_rounds_go_by_the_policy_that_they_began_with(as_pipe: bool, tmp_path: Path) -> None:
    """A pipe is empty when it is read again, which is the default policy; and a file may change meanwhile."""
    policy, script = tmp_path / "policy.toml", tmp_path / "changes the policy.sh"
    policy.write_text('[metrics]\nslot_to_announced = { margin = "77%" }\n', encoding="utf-8")
    script.write_text(f': >"{policy}"\n{SIMULATE.replace("{round}", "$1").replace("{out}", "$2")}', encoding="utf-8")
    asked = ["--run-a", SIMULATE, "--run-b", f"sh '{script}' 7 {{out}}", "--budget", "1h", "--rounds-at-most", "1"]
    words = [sys.executable, "-m", "slotmark", "compare", "--until-decided", *asked, "-o", str(tmp_path / "out")]
    named = f"<(cat {policy})" if as_pipe else str(policy)
    ended = subprocess.run(
        ["bash", "-c", f"{shlex.join(words)} --policy {named}"], capture_output=True, text=True, check=False
    )
    assert ended.returncode == 3, ended.stderr
    report = json.loads((tmp_path / "out" / "report.json").read_text(encoding="utf-8"))
    (row,) = (row for row in report["rows"] if row["metric"]["id"] == "slot_to_announced")
    assert row["differences"][0]["margin"] == 0.77


def test_a_command_whose_program_was_built_anew_is_not_the_one_that_was_cut(tmp_path: Path) -> None:
    """Rounds of two builds would be put into one side."""
    program, out = tmp_path / "measure.sh", tmp_path / "out"
    program.write_text(f"#!/bin/sh\n{SIMULATE.replace('{round}', '$1').replace('{out}', '$2')}\n", encoding="utf-8")
    program.chmod(0o700)
    asked = ["--run-a", SIMULATE, "--run-b", f"{program} 7{{round}} {{out}}", "--budget", "1h", "-o", out]
    assert until(*asked, "--rounds-at-most", "1").returncode == 0
    kept = (out / FILE).read_bytes()
    program.write_text(program.read_text(encoding="utf-8").replace("--direct", "--direct --set ledger_tick.mean=120ms"))
    refused = until(*asked, "--rounds-at-most", "2", "--resume")
    assert refused.returncode == 2
    assert (
        f"not the session that was cut: --run-b was {program} '7{{round}}' '{{out}}' ({program} is sha256:"
        in refused.stderr
    )
    assert (out / FILE).read_bytes() == kept


def test_a_gate_may_be_a_pipe(tmp_path: Path) -> None:
    asked = ["--run-a", SIMULATE, "--run-b", SLOWER, "--budget", "1h", "--rounds-at-most", "1"]
    words = [sys.executable, "-m", "slotmark", "compare", "--until-decided", *asked, "-o", str(tmp_path / "out")]
    gate = "<(echo 'slot_to_announced = \"2%\"')"
    ended = subprocess.run(
        ["bash", "-c", f"{shlex.join(words)} --gate {gate}"], capture_output=True, text=True, check=False
    )
    assert ended.returncode == 3, ended.stderr
    assert "no verdict on Slot start to announced" in ended.stdout.splitlines()[-1]


@pytest.mark.slow
def test_simulated_rounds_are_made_until_the_slower_tick_holds(policy: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    asked = ["--run-a", SIMULATE, "--run-b", SLOWER, "--budget", "1h", "--policy", policy, "-o", out]
    ended = until(*asked, timeout=900)
    assert ended.returncode == 1, ended.stderr
    assert ended.stdout.splitlines()[-1].startswith("HOLD b (")
    assert "worse in Slot start to announced +" in ended.stdout.splitlines()[-1]
    assert not (out / FILE).exists()
    assert 5 <= len(list((out / "a").iterdir())) <= 8


def test_ctrl_c_leaves_finished_rounds_alone(tmp_path: Path) -> None:
    runs, out = tmp_path / "runs", tmp_path / "out"
    for side, words in (("a", SIMULATE), ("b", SLOWER)):
        command = [word.replace("{round}", "1").replace("{out}", str(runs / side)) for word in shlex.split(words)]
        subprocess.run(command, check=True, capture_output=True)
    script = tmp_path / "second round hangs.sh"
    script.write_text(
        f'test "$1" = 1 || {{ mkdir "$2.logs"; touch "{tmp_path}/hangs"; sleep 300; }}; cp -r "{runs}/b" "$2"',
        encoding="utf-8",
    )
    command = [
        *(sys.executable, "-m", "slotmark", "compare", "--until-decided", "--budget", "1h", "-o", str(out)),
        *("--run-a", f"cp -r {runs}/a {{out}}", "--run-b", f"sh '{script}' {{round}} {{out}}"),
    ]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as going:
        until_s = time.monotonic() + 120
        while not (tmp_path / "hangs").exists() and time.monotonic() < until_s:
            time.sleep(0.05)
        going.send_signal(signal.SIGINT)
        _, said = going.communicate()
    assert going.returncode == 130, said
    assert "1 round finished and kept: the same command with --resume continues" in said
    assert "Traceback" not in said
    assert sorted(str(path.relative_to(out)) for path in out.glob("*/*")) == ["a/round-1", "b/round-1"]
    assert {path.name for path in out.iterdir()} == {"a", "b", FILE}


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--run-a", "true {out}", "--run-b", "true {out}", "-o", "x"], "--budget 2h"),
        (["--run-a", "true {out}", "--run-b", "true {out}", "--budget", "0s", "-o", "x"], "--budget: expected a time above 0"),
        (["--run-a", "true {out}", "--run-b", "true {out}", "--budget", "1h"], "Name one with -o"),
        (["--run-a", "true {out}", "--run-b", "true", "--budget", "1h", "-o", "x"], "--run-b 'true': {out} isn't in it"),
        (["a", "b", "--budget", "1h", "-o", "x"], "--until-decided beside a"),
        (["--run-a", "true {out}", "--run-b", "true {out}", "--budget", "1h", "-o", "x", "--policy", "slip.toml"], "slip.toml: 'adopted' isn't tested"),
        (["--run-a", "true {out}", "--run-b", "true {out}", "--budget", "1h", "-o", "x", "--resume"], "holds no session that was cut"),
    ],
)  # fmt: skip
def test_what_makes_no_sense_is_refused_before_anything_runs(arguments: list[str], said: str, tmp_path: Path) -> None:
    (tmp_path / "slip.toml").write_text('[metrics]\nadopted = { rank = "decisive" }\n', encoding="utf-8")
    ended = until(*arguments, cwd=tmp_path)
    assert ended.returncode == 2
    assert said in ended.stderr
    assert len(ended.stderr.splitlines()) == 1
    assert not (tmp_path / "x").exists()


def test_options_of_rounds_without_them_are_refused(command: Command, tmp_path: Path) -> None:
    ended = command("compare", "a", "b", "--budget", "1h", cwd=tmp_path)
    assert ended.returncode == 2
    assert "--budget goes with --until-decided" in ended.stderr
