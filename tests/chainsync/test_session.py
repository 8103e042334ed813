"""A session as a whole, through the command."""

import json
import os
import signal
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

import pytest

from slotmark import _core, open_run
from slotmark.benches.chainsync.server import ReplayServer
from slotmark.benches.chainsync.session import conduct
from slotmark.benches.chainsync.setting import Setting
from slotmark.benches.chainsync.tables import INVOCATIONS, WINDOWS
from slotmark.benches.chainsync.targets import Program
from slotmark.compare import compare
from slotmark.metrics import catalogue, samples
from tests.waiting import is_running, until

from ..conftest import run_arguments, slotmark
from .conftest import built, schedule


@pytest.fixture(scope="module")
def runs(small_chain: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    built("native")
    built("floor")
    out = tmp_path_factory.mktemp("runs")
    made = slotmark(
        *run_arguments(small_chain, out, "--target", "native", "--mode", "raw,decode", "--depth", "1,50", "--seed", "5")
    )
    assert made.returncode == 0, made.stderr
    assert str(out / "native") in made.stdout
    return out


def test_a_run_folder_holds_every_invocation_and_its_facts(runs: Path) -> None:
    run = open_run(runs / "native")
    invocations = run.table("invocations")
    assert invocations.schema.equals(INVOCATIONS)
    assert run.table("windows").schema.equals(WINDOWS)
    assert invocations.num_rows == 4 * 3  # settings, times two rounds and the warm-up
    assert Counter(invocations["round"].to_pylist()) == {0: 4, 1: 4, 2: 4}
    assert invocations["floor_elapsed_ns"].null_count == 0
    assert set(invocations["blocks"].to_pylist()) == {500}
    manifest = run.manifest
    assert manifest.workload["blocks"] == "500"
    assert manifest.parameters["seed"] == 5
    assert manifest.machine is not None
    assert manifest.machine.cores >= 1
    assert all(len(source.sha256) == 64 for source in manifest.sources)
    assert {warning.kind for warning in manifest.warnings} >= {"few_rounds"}
    assert open_run(runs / "floor").manifest.session == manifest.session


def test_a_manifest_has_what_its_target_was_measured_in_alone(runs: Path) -> None:
    """The floor never decodes; no mode or depth is a condition, since each part of a comparison is of one."""
    native, floor = (open_run(runs / name).manifest for name in ("native", "floor"))
    assert (native.parameters["modes"], native.parameters["depths"]) == (["raw", "decode"], [1, 50])
    assert {"digest, raw", "digest, decode"} <= {*native.workload}
    assert (floor.parameters["modes"], floor.parameters["depths"]) == (["raw"], [1, 50])
    assert "digest, raw" in floor.workload
    assert "digest, decode" not in floor.workload
    assert not [
        one
        for one in compare([open_run(runs / "native"), open_run(runs / "floor")]).all_warnings
        if one.kind == "different"
    ]


def test_windows_reach_to_the_last_block(small_chain: Path, tmp_path: Path) -> None:
    built("native")
    built("floor")
    made = slotmark(
        *run_arguments(small_chain, tmp_path, "--target", "native", "--depth", "50", "--progress-every", "300")
    )
    assert made.returncode == 0, made.stderr
    run = open_run(tmp_path / "native")
    windows, invocations = run.table("windows").to_pylist(), run.table("invocations").to_pylist()
    assert len(invocations) == 3
    for ran in invocations:
        own = [one for one in windows if one["invocation"] == ran["invocation"]]
        assert [(one["blocks"], one["window_blocks"]) for one in own] == [(300, 300), (500, 200)]
        assert own[-1]["at_ns"] == ran["elapsed_ns"] == sum(one["window_ns"] for one in own)
        assert own[-1]["bytes"] == ran["bytes"]


def test_every_metric_of_the_catalogue_has_samples_of_every_setting(runs: Path) -> None:
    run = open_run(runs / "native")
    for metric in catalogue("chainsync").metrics:
        found = samples(run, metric.id)
        assert set(found.parts) == {
            "raw, sequential",
            "raw, 50 in flight",
            "decode, sequential",
            "decode, 50 in flight",
        }, metric.id
        assert all(
            value > 0 or metric.id == "switches_per_block" for setting in found.parts for value in found.values(setting)
        ), metric.id


def test_each_round_does_everything_once_in_an_order_of_the_seed(
    server: ReplayServer, window: "_core.Window", floor: Program, native: Program
) -> None:
    settings = (Setting("raw", 1), Setting("raw", 9), Setting("decode", 9))

    def order() -> list[list[tuple[str, Setting]]]:
        measured, failures = conduct(
            schedule(window, floor, native, settings=settings, rounds=2), server, {}, lambda *_: None
        )  # pyright: ignore[reportArgumentType]
        assert not failures
        assert [one.order for one in measured] == list(range(len(measured)))
        return [
            [(one.case.program, one.case.setting) for one in measured if one.round == number] for number in range(3)
        ]

    first, again = order(), order()
    assert first == again
    assert len({tuple(entries) for entries in first}) > 1
    for entries in first:
        assert sorted(entries) == sorted(
            [*(("native", s) for s in settings), ("floor", Setting("raw", 1)), ("floor", Setting("raw", 9))]
        )


def test_a_run_is_never_overwritten(runs: Path, small_chain: Path) -> None:
    again = slotmark(*run_arguments(small_chain, runs, "--target", "native"))
    assert again.returncode == 2
    assert again.stderr.strip().splitlines()[-1] == (
        f"slotmark: {runs / 'native'}: already there, and a run is never overwritten. Choose another -o or move it away."
    )


def _children(pid: int) -> dict[int, str]:
    found = {}
    for process in Path("/proc").iterdir():
        if process.name.isdigit():
            try:
                stat = (process / "stat").read_text().rpartition(")")[2].split()
                if int(stat[1]) == pid and stat[0] != "Z":
                    found[int(process.name)] = (process / "cmdline").read_bytes().replace(b"\0", b" ").decode()
            except OSError:
                continue
    return found


def _wait_for_child(pid: int, word: str) -> int:
    for _ in range(600):
        for child, command in _children(pid).items():
            if word in command:
                return child
        time.sleep(0.02)
    raise AssertionError(f"no child with '{word}' came up")


@pytest.mark.parametrize(("number", "code"), [(signal.SIGTERM, 143), (signal.SIGHUP, 129), (signal.SIGKILL, -9)])
def test_children_end_with_a_session_however_it_ends(
    number: signal.Signals, code: int, small_chain: Path, tmp_path: Path
) -> None:
    native = built("native")
    built("floor")
    out = tmp_path / "runs"
    # A target that starts a process of its own, and reads neither of the pipes that end with the session.
    target = f"nested=sh -c '{native.command[0]} \"$@\" </dev/zero | cat' -"
    arguments = run_arguments(small_chain, out, "--target", target, "--depth", "1", "--reply-delay", "5ms")
    with subprocess.Popen(
        [sys.executable, "-m", "slotmark", *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as session:
        server = _wait_for_child(session.pid, "slotmark-server")
        client = _wait_for_child(session.pid, " run --socket")
        grandchildren = list(_children(client))
        os.kill(session.pid, number)
        _, said = session.communicate(timeout=60)
    assert session.returncode == code, said
    assert "Traceback" not in said
    started = (server, client, *grandchildren)
    until(lambda: not any(map(is_running, started)))
    assert not out.exists() or not list(out.iterdir())


@pytest.mark.parametrize("whom", ["us", "server", "client"])
def test_a_session_cut_short_says_so_and_leaves_nothing(whom: str, small_chain: Path, tmp_path: Path) -> None:
    built("native")
    built("floor")
    out = tmp_path / "runs"
    arguments = run_arguments(small_chain, out, "--target", "native", "--depth", "1", "--reply-delay", "5ms")
    with subprocess.Popen(
        [sys.executable, "-m", "slotmark", *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as session:
        server = _wait_for_child(session.pid, "slotmark-server")
        client = _wait_for_child(session.pid, "slotmark-target-")
        victim = {"us": session.pid, "server": server, "client": client}[whom]
        os.kill(victim, signal.SIGINT if whom == "us" else signal.SIGKILL)
        _, said = session.communicate(timeout=60)
    last = said.strip().splitlines()[-1]
    assert "Nothing was kept" not in last  # rounds before may be
    assert session.returncode == (130 if whom == "us" else 2), said
    assert {"us": "interrupted", "server": "server was killed by signal 9", "client": "was killed by signal 9"}[
        whom
    ] in last
    assert "Traceback" not in said
    assert not out.exists() or not list(out.iterdir())
    for pid in (server, client):
        assert not Path(f"/proc/{pid}").exists()


def cut_session(small_chain: Path, out: Path, *more: str) -> tuple[Path, list[str]]:
    """A session that was killed after some of its rounds: the file that it left, and its arguments."""
    arguments = [*run_arguments(small_chain, out, "--target", "native", "--depth", "1", "--reply-delay", "1ms"), *more]
    left = out / "unfinished-session.jsonl"
    with subprocess.Popen(
        [sys.executable, "-m", "slotmark", *arguments], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    ) as session:
        for _ in range(3_000):
            if left.exists() and left.stat().st_size:
                break
            time.sleep(0.02)
        os.kill(session.pid, signal.SIGKILL)
    return left, arguments


def test_a_session_that_was_cut_is_resumed_without_measuring_again(small_chain: Path, tmp_path: Path) -> None:
    built("native")
    built("floor")
    left, arguments = cut_session(small_chain, tmp_path / "runs", "--rounds", "6")
    with left.open("a") as file:
        file.write('{"number":')  # a line that was being written
    kept = [json.loads(line) for line in left.read_text().splitlines()[1:-1]]
    again = slotmark(*arguments)
    assert again.returncode == 2
    assert "Go on with --resume" in again.stderr

    resumed = slotmark(*arguments, "--resume")
    assert resumed.returncode == 0, resumed.stderr
    assert f"resumed after round {kept[-1]['number']} of 6" in resumed.stderr
    assert not left.exists()
    run = open_run(tmp_path / "runs" / "native")
    rows = run.table("invocations").sort_by("invocation").to_pylist()
    assert [row["round"] for row in rows] == list(range(7))
    before = [one["at"] for part in kept for one in part["measured"] if one["case"]["program"] == "native"]
    assert [row["at"] for row in rows][: len(before)] == before
    (warning,) = (one for one in run.manifest.warnings if one.kind == "resumed")
    assert f"after round {kept[-1]['number']}" in warning.text
    assert slotmark("check", run.path).returncode == 0


def test_a_target_that_was_built_anew_is_not_the_one_that_was_cut(small_chain: Path, tmp_path: Path) -> None:
    client = tmp_path / "client.sh"
    client.write_text(f'#!/bin/sh\nexec {built("native").command[0]} "$@"\n', encoding="ascii")
    client.chmod(0o755)
    left, arguments = cut_session(small_chain, tmp_path / "runs", "--target", f"mine={client}", "--rounds", "6")
    kept = left.read_bytes()
    client.write_text(client.read_text(encoding="ascii").replace("exec", "sleep 0.1; exec"), encoding="ascii")
    refused = slotmark(*arguments, "--resume")
    assert refused.returncode == 2
    assert f"not the session that was cut: target mine was {client} ({client} is sha256:" in refused.stderr
    assert left.read_bytes() == kept


def test_another_session_is_not_resumed(small_chain: Path, tmp_path: Path) -> None:
    built("native")
    built("floor")
    left, arguments = cut_session(small_chain, tmp_path / "runs", "--rounds", "6")
    chain = tmp_path / "chain"
    made = slotmark("chain", "synth", "--workload", "preview-like", "--blocks", "600", "--seed", "8", "-o", chain)
    assert made.returncode == 0, made.stderr
    other_chain = [str(chain) if one == str(small_chain) else one for one in arguments]
    for changed, said in (
        ([*arguments, "--seed", "9"], "parameter 'seed' was 1, is 9"),
        ([*arguments, "--depth", "1,2"], "parameter 'depths' was [1], is [1, 2]"),
        (other_chain, "the chain's last block was"),
        ([*arguments, "--target", "floor"], "the list of targets was native, floor, is native, floor, floor"),
    ):
        refused = slotmark(*changed, "--resume")
        assert refused.returncode == 2
        assert "not the session that was cut" in refused.stderr
        assert said in refused.stderr
    assert left.exists()
    nothing = slotmark(*run_arguments(small_chain, tmp_path / "elsewhere", "--target", "native"), "--resume")
    assert nothing.returncode == 2
    assert "holds no session that was cut" in nothing.stderr
