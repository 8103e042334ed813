"""The workload of a live cluster whose nodes lose transactions."""

import json
import os
import signal
import socket
import subprocess
import sys
import time
import tomllib
from pathlib import Path

import msgspec
import pytest

from slotmark.benches.cluster.bed import read_bed
from slotmark.benches.cluster.live.conducting import _load_over, _never_offered
from slotmark.benches.cluster.live.request import Request
from slotmark.benches.cluster.live.sites.part import Loaded
from slotmark.benches.cluster.live.workload import OFFERED, Generator, Workload
from slotmark.benches.cluster.simulating.simulate import load_profile, shipped_profiles
from slotmark.metrics.catalogue import catalogue
from slotmark.run import open_run
from tests.cluster.live.machine import PATIENCE_S, of_conductor, skip_without_programs, until
from tests.cluster.live.stand_in import listen
from tests.conftest import slotmark


@pytest.mark.parametrize("profile", shipped_profiles())
def test_a_shipped_profile_has_transactions_for_the_usual_time(profile: str) -> None:
    workload = tomllib.loads(load_profile(profile))["workload"]
    usual_s = next(field.default for field in msgspec.structs.fields(Request) if field.name == "seconds")
    assert workload["tx_count"] >= workload["tps"] * usual_s


@pytest.mark.parametrize(
    ("tps", "seconds", "most", "measured_s", "over"),
    [
        (4.4, 120.0, 10**6, 120.0, False),  # 528 / 4.4 is rounded to less than 120
        (41.7, 3600.0, 10**6, 3600.0, False),
        (8.0, 600.0, 4800, 600.0, False),
        (8.0, 600.0, 2400, 600.0, True),
        (8.0, 600.0, 2400, 299.5, False),  # cut before they were over
        (8.0, 600.0, 2400, 310.0, True),
    ],
)
def test_a_load_is_over_early_only_where_the_profile_has_too_few_transactions(
    tps: float, seconds: float, most: int, measured_s: float, over: bool
) -> None:
    submitted = Workload("value-only", tps, most, ()).transactions(seconds)
    found = _load_over(Loaded("", submitted, tps, {}, {}, []), measured_s, seconds)
    assert [one.kind for one in found] == ["load_over"] * over


@pytest.mark.parametrize(
    ("offered", "measured_s", "left"),
    [(480, 60.0, 0), (457, 60.0, 0), (300, 60.0, 180), (300, 37.5, 0), (None, 60.0, 0)],
)
def test_what_was_due_and_never_offered_is_told(offered: int | None, measured_s: float, left: int) -> None:
    outcome: dict[str, object] = {} if offered is None else {OFFERED: offered}
    found = _never_offered(Loaded("", 480, 8.0, {}, outcome, []), measured_s)
    assert [one.kind for one in found] == ["load_not_taken"] * bool(left)
    if found:
        assert f"Of 480 transactions that were due in the measurement, {left} (38 %) were never" in found[0].text


@pytest.mark.parametrize(
    ("setting", "expected"),
    [
        ("workload.tps=0", "workload.tps is 0: expected more than 0."),
        ("workload.tx_count=0", "workload.tx_count is 0: expected more than 0."),
        ("shares", "workload.shares has 1.0 for ap-southeast-2, where no host has a pool."),
    ],
)
def test_a_workload_that_submits_nothing_is_refused_before_anything_is_started(
    tmp_path: Path, setting: str, expected: str
) -> None:
    profile, settings = "value-only-5", ["--set", setting]
    if setting == "shares":
        text = load_profile("value-only-5").replace("[workload]\n", '[workload]\nshares = { "ap-southeast-2" = 1 }\n')
        (tmp_path / "mine.toml").write_text(text, encoding="utf-8")
        profile, settings = str(tmp_path / "mine.toml"), []
    bed, out = tmp_path / "bed", tmp_path / "live"
    made = slotmark("cluster", "create", profile, "--hosts", "2", *settings, "-o", bed)
    assert made.returncode == 0, made.stderr
    for more in ((), ("--node", "a=slotmark", "--node", "b=slotmark", "--rounds", "2")):
        done = slotmark("cluster", "run", bed, "--for", "4s", *more, "-o", out)
        assert done.returncode == 2
        (line,) = done.stderr.splitlines()
        assert expected in line
        assert "or use --no-workload" in line or setting == "shares"
        assert not list(tmp_path.glob("live*"))


def phases(logs: Path) -> list[str]:
    """The generator's progress so far."""
    said = logs / "generator" / "stdout"
    return [json.loads(line)["phase"] for line in said.read_text().splitlines()] if said.exists() else []


def test_a_target_that_begins_protocols_of_its_own_is_a_warning_and_the_load_goes_on(tmp_path: Path) -> None:
    """The first target begins some and asks for nothing else, as the second does: the load ends for that reason alone."""
    skip_without_programs()
    made = slotmark("cluster", "create", "value-only-5", "--hosts", "2", "-o", tmp_path / "bed")
    assert made.returncode == 0, made.stderr
    bed = read_bed(tmp_path / "bed")
    ports = [host.port for host in bed.hosts]
    magic = bed.genesis.network_magic
    targets = [listen("127.0.0.1", ports[0], magic, begun=[8, 2, 2]), listen("127.0.0.1", ports[1], magic)]
    try:
        addresses = {host.name: "127.0.0.1" for host in bed.hosts}
        generator = Generator(bed, tmp_path / "bed", 1, 60, 1, None, (tmp_path, "node.socket"), addresses)
        until("the generator ended", lambda: generator.ended is not None)
    finally:
        # Nodes of the tests that follow listen on the same ports.
        for target in targets:
            target.shutdown(socket.SHUT_RDWR)
    assert (
        f"node-0 (127.0.0.1:{ports[0]}): never asked for transactions (tx-submission, MsgRequestTxIds)"
        in generator.words
    )
    assert f"node-1 (127.0.0.1:{ports[1]}): never asked for transactions" in generator.words
    (warning,) = generator.warnings()
    assert (warning.kind, warning.subject) == ("target_opened_protocols", "node-0")
    assert "started mini-protocols (2 and 8)" in warning.text


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
            records = logs / "generator" / "submissions.jsonl"
            while not (records.exists() and records.stat().st_size):
                assert conductor.poll() is None, (tmp_path / "said").read_text()
                assert time.monotonic() < end
                time.sleep(0.01)
            # One more in the load: it is started again, and gets no transactions from then on.
            (again,) = (
                pid
                for pid in of_conductor(conductor.pid)
                if b"slotmark-node" in program(pid) and Path(f"/proc/{pid}/cwd").readlink().name == "node-1"
            )
            os.kill(again, signal.SIGKILL)
            assert conductor.wait(PATIENCE_S) == 0, (tmp_path / "said").read_text()
        finally:
            if conductor.poll() is None:
                conductor.terminate()
    assert phases(logs)[:3] == ["signed", "split", "begun"]
    run = open_run(out)
    assert {one.subject for one in run.manifest.warnings if one.kind == "node_died"} == {"node-0", "node-1", "node-2"}
    assert run.manifest.observed["transactions offered"]
    (lost,) = (one for one in run.manifest.warnings if one.kind == "load_lost")
    assert lost.subject == "node-1"
    assert "(the connection was lost" in lost.text
    of_bench = catalogue("cluster")
    assert "load_lost" in of_bench.stopping
    assert "load_lost" in of_bench.spoiling


def test_transactions_refer_to_outputs_of_the_genesis(tmp_path: Path) -> None:
    """Nodes look them up in their stores, and take what refers to outputs that are there."""
    skip_without_programs()
    bed, out = tmp_path / "bed", tmp_path / "live"
    made = slotmark("cluster", "create", "value-only-5", "--hosts", "2", "--set", "live.references=4", "-o", bed)
    assert made.returncode == 0, made.stderr
    options = ("--for", "8s", "--network", "loopback", "--start-in", "3s", "-o", out)
    done = slotmark("cluster", "run", bed, "--node", "slotmark --ledger lsm", *options)
    assert done.returncode == 0, done.stderr
    observed = open_run(out).manifest.observed
    in_blocks = observed["transactions in blocks"]
    assert isinstance(in_blocks, int)
    assert in_blocks > 0
    looped = slotmark(
        *("cluster", "create", "plutus-5", "--hosts", "2", "--set", "live.references=4", "-o", tmp_path / "looped"),
    )
    assert looped.returncode == 0, looped.stderr
    refused = slotmark("cluster", "run", tmp_path / "looped", "--for", "4s", "-o", tmp_path / "none")
    assert refused.returncode == 2
    assert "live.references goes with transactions that move value" in refused.stderr.splitlines()[-1]


def program(pid: int) -> bytes:
    """The name of a process's program; nothing of one that has ended."""
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes().partition(b"\0")[0]
    except OSError:
        return b""
