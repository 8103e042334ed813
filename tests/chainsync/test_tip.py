"""Clients at a node's tip: our own server, in a process of its own, lets a chain grow and roll back; the clients are real ones."""

import json
import os
import shlex
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import msgspec
import pytest

from slotmark import _core, compare, open_run
from slotmark.benches.chainsync.tables import ANNOUNCEMENTS, ROLLBACKS
from slotmark.benches.chainsync.targets import built_ins
from slotmark.metrics import catalogue, samples

from ..cluster.live.machine import skip_without_programs
from ..conftest import slotmark
from .conftest import built
from .programs import HEAD


class LiveNode(msgspec.Struct):
    """A node whose chain grows."""

    pid: int
    socket: Path
    address: str


@contextmanager
def live_node(chain: Path, folder: Path, *more: str) -> Iterator[LiveNode]:
    """Our server as somebody's node."""
    path = folder / "node.socket"
    command = [sys.executable, "-m", "slotmark", "chainsync", "serve", "--chain", str(chain), "--socket", str(path)]
    with subprocess.Popen(
        [*command, "--listen", "127.0.0.1:0", "--json", "--until-stdin-ends", *more],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    ) as process:
        assert process.stdout is not None
        try:
            yield LiveNode(process.pid, path, json.loads(process.stdout.readline())["address"])
        finally:
            process.kill()


@pytest.fixture
def growing(small_chain: Path, tmp_path: Path) -> Iterator[LiveNode]:
    """A node that gets a block ten times a second, and rolls back by two after every seventh."""
    with live_node(small_chain, tmp_path, "--pace", "100ms", "--roll-back-every", "7") as node:
        yield node


def follow(node: LiveNode, out: Path, time_: str, *more: str) -> "subprocess.CompletedProcess[str]":
    return slotmark("chainsync", "run", "--node-socket", node.socket, "--follow", time_, "-o", out, *more)


def rows_of(run: Path) -> list[dict[str, Any]]:
    return open_run(run).table("announcements").to_pylist()


def keys(rows: Sequence[dict[str, Any]]) -> set[tuple[int, str, int]]:
    return {(row["slot"], row["hash"], row["announcement"]) for row in rows}


def chain_blocks(chain: Path) -> dict[str, int]:
    """Slot by hash of all blocks of a chain folder."""
    points = (point for _, _, point in _core.digests(str(chain), "origin", 600, "headers", 1))
    return {hash_: int(slot) for slot, _, hash_ in (point.partition(".") for point in points)}


def test_two_clients_get_the_same_blocks_at_the_same_time(growing: LiveNode, small_chain: Path, tmp_path: Path) -> None:
    built("native")
    out = tmp_path / "runs"
    other = f"other={built('native').command[0]}"
    made = follow(growing, out, "9s", "--target", "native", "--target", other)
    assert made.returncode == 0, made.stderr
    blocks = chain_blocks(small_chain)
    native, its = rows_of(out / "native"), rows_of(out / "other")
    for name, rows in (("native", native), ("other", its)):
        run = open_run(out / name)
        assert run.table("announcements").schema.equals(ANNOUNCEMENTS)
        assert run.table("rollbacks").schema.equals(ROLLBACKS)
        assert run.table("rollbacks").num_rows >= 1
        assert len(keys(rows)) == len(rows) >= 15
        assert all(blocks[row["hash"]] == row["slot"] for row in rows)
        assert any(row["announcement"] == 2 for row in rows)
        done = [row for row in rows if row["latency_ns"] is not None]
        assert len(done) >= len(rows) - 1
        for row in done:
            assert row["announced_ns"] <= row["arrived_ns"] <= row["decoded_ns"]
            assert row["latency_ns"] == row["decoded_ns"] - row["announced_ns"]
            assert row["held_ns"] > 0
        assert {warning.kind for warning in run.manifest.warnings} >= {"other_node"}
        assert slotmark("check", out / name).returncode == 0
    # The same node, the same blocks: at most those at both ends and around a roll-backward are one client's only.
    assert len(keys(native) & keys(its)) >= 0.8 * max(len(native), len(its))
    for metric in catalogue("follow").metrics:
        assert samples(open_run(out / "native"), metric.id).parts == ["decode"], metric.id

    shown = slotmark("show", out / "native")
    assert shown.returncode == 0, shown.stderr
    assert "Announcement to" in shown.stdout
    assert "node node" not in " ".join(shown.stdout.split())
    assert "roll-backwards" in shown.stdout
    compared = slotmark("compare", out / "native", out / "other", "-o", tmp_path / "report")
    assert compared.returncode == 0, compared.stderr
    assert "Announcement to" in compared.stdout
    (row,) = (one for one in compare(open_run(out / "native"), open_run(out / "other")).rows if one.metric.tested)
    (difference,) = row.differences
    assert difference is not None
    assert difference.paired
    assert difference.basis is not None
    assert difference.basis.over == "blocks"
    assert 10 <= difference.basis.counts[0] <= len(keys(native) & keys(its))
    assert difference.conditional is (difference.verdict != "undecided")


@pytest.mark.parametrize("name", sorted(built_ins()))
def test_every_client_follows_in_each_of_its_modes(name: str, growing: LiveNode, tmp_path: Path) -> None:
    modes = built(name).description.follow
    out = tmp_path / "runs"
    made = follow(growing, out, "9s", "--node", growing.address, "--target", name, "--mode", ",".join(modes))
    assert made.returncode == 0, made.stderr
    rows = rows_of(out / name)
    assert {row["mode"] for row in rows} == set(modes)
    shown = slotmark("show", out / name).stdout.splitlines()
    for mode in modes:
        of_mode = [row for row in rows if row["mode"] == mode]
        assert f"blocks announced, {mode}: {len(of_mode)}" in shown, "modes are counted apart"
    for mode in modes:
        done = [row for row in rows if row["mode"] == mode and row["latency_ns"] is not None]
        assert any(row["announcement"] > 1 for row in done), f"{mode} went on behind a roll-backward"
        assert any(row["awaited"] for row in done)
    sizes = {row["hash"]: row["bytes"] for row in rows if row["mode"] in ("raw", "decode")}
    if "fetch" in modes:
        fetched = {row["hash"]: row["bytes"] for row in rows if row["mode"] == "fetch" and row["hash"] in sizes}
        assert fetched, "clients followed one node at the same time: they have blocks in common"
        assert fetched == {block: sizes[block] for block in fetched}


@contextmanager
def live_cluster(folder: Path) -> Iterator[tuple[Path, str]]:
    """The socket and the address of a node of our own in a cluster that makes blocks."""
    skip_without_programs()
    bed, logs = folder / "bed", folder / "live.logs"
    made = slotmark("cluster", "create", "value-only-5", "--hosts", "3", "-o", bed)
    assert made.returncode == 0, made.stderr
    port = json.loads((bed / "node-specs.json").read_text())["node-0"]["port"]
    options = ["--for", "10m", "--network", "loopback", "--no-workload", "--start-in", "3s", "-o", str(folder / "live")]
    said = folder / "said"
    with (
        said.open("wb") as file,
        subprocess.Popen(
            [sys.executable, "-m", "slotmark", "cluster", "run", str(bed), *options], stdout=file, stderr=file
        ) as conductor,
    ):
        try:
            until(conductor, said, lambda: b"measuring" in said.read_bytes())
            yield logs / "node-0" / "node.socket", f"127.0.0.1:{port}"
        finally:
            conductor.terminate()
            try:
                conductor.wait(120)
            except subprocess.TimeoutExpired:
                conductor.kill()
                raise


def until(process: "subprocess.Popen[bytes]", said: Path, condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 180
    while not condition():
        assert process.poll() is None, said.read_text()
        assert time.monotonic() < deadline, said.read_text()
        time.sleep(0.1)


def test_a_node_of_a_live_cluster_is_followed_by_its_socket_and_its_address(tmp_path: Path) -> None:
    built("native")
    with live_cluster(tmp_path) as (socket, address):
        more = ["--magic", "42", "--mode", "raw,decode,headers,fetch", "--target", "native", "--follow", "30s"]
        made = slotmark("chainsync", "run", "--node-socket", socket, "--node", address, *more, "-o", tmp_path / "runs")
    assert made.returncode == 0, made.stderr
    run = open_run(tmp_path / "runs" / "native")
    (warning,) = (one for one in run.manifest.warnings if one.kind == "other_node")
    assert "slotmark-node" in warning.text
    rows = rows_of(run.path)
    awaited = {(row["mode"], row["hash"]) for row in rows if row["awaited"] and row["latency_ns"] is not None}
    assert {mode for mode, _ in awaited} == {"raw", "decode", "headers", "fetch"}
    of_modes = [{hash_ for mode, hash_ in awaited if mode == one} for one in ("raw", "decode", "headers", "fetch")]
    assert set.intersection(*of_modes), "no block that all four modes had"


CHANGED = """
import threading
process = subprocess.Popen([NATIVE, *sys.argv[1:]], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
def pass_on():
    process.stdin.write(sys.stdin.readline()); process.stdin.flush()
    sys.stdin.read()
    os._exit(0)
threading.Thread(target=pass_on, daemon=True).start()
number = 0
for line in process.stdout:
    record = json.loads(line)
    number += record["event"] == "block"
    CHANGE
    print(json.dumps(record), flush=True)
sys.exit(process.wait())
"""


def changed(folder: Path, name: str, change: str) -> str:
    """`--target` of a program that follows with our own client, and changes each record of it."""
    native = built("native").command[0]
    describe = HEAD.replace('"modes": {', '"follow": ["decode"], "modes": {')
    file = folder / f"{name}.py"
    file.write_text(describe + CHANGED.replace("NATIVE", repr(native)).replace("CHANGE", change), encoding="utf-8")
    return f"{name}={shlex.join([sys.executable, str(file)])}"


def test_a_client_that_takes_its_time_is_found_slower(growing: LiveNode, tmp_path: Path) -> None:
    """It sleeps for 30 ms with every block: no measurement may say less."""
    slow = changed(tmp_path, "slow", 'time.sleep(0.03); record["at_ns"] = time.monotonic_ns()')
    out = tmp_path / "runs"
    made = follow(growing, out, "9s", "--target", "native", "--target", slow)
    assert made.returncode == 0, made.stderr
    done = [row["latency_ns"] for row in rows_of(out / "slow") if row["latency_ns"] is not None]
    assert len(done) >= 15
    assert min(done) >= 30_000_000
    compared = slotmark("compare", out / "native", out / "slow", "-o", tmp_path / "report")
    assert compared.returncode == 0, compared.stderr
    (row,) = (one for one in compare(open_run(out / "native"), open_run(out / "slow")).rows if one.metric.tested)
    assert row.differences[0] is not None
    assert row.differences[0].verdict == "worse"
    assert row.differences[0].conditional


UNTRUSTED = [
    ('record.update(digest="00" * 32) if number == 3 else None', "its digest is not that of the blocks it was given"),
    ('record.update(hash="00" * 32) if number == 3 else None', "where the node sent block"),
    ('record["at_ns"] = time.time_ns()', "`at_ns` must be CLOCK_MONOTONIC"),
    ('record["at_ns"] -= 10**9 if record["event"] == "block" else 0', "`at_ns` must be CLOCK_MONOTONIC"),
    ('record = {"event": "error", "message": "gave up"} if number == 3 else record', "gave up"),
    ("sys.exit(7) if number == 3 else None", "exited 7 while it followed"),
    # What it leaves holds its standard output, and what it follows with.
    ("(os.fork() or time.sleep(600), sys.exit(7)) if number == 3 else None", "exited 7 while it followed"),
    ('record = {"event": "done"} if number == 3 else record', "is not a record of `follow`"),
]
"""Changes that a client makes to its records, and what is said of them."""


def test_clients_that_can_not_be_trusted_cost_themselves_only(growing: LiveNode, tmp_path: Path) -> None:
    out = tmp_path / "runs"
    bad = [changed(tmp_path, f"bad-{place}", change) for place, (change, _) in enumerate(UNTRUSTED)]
    made = follow(growing, out, "6s", "--target", "native", *(word for one in bad for word in ("--target", one)))
    assert made.returncode == 2, made.stderr
    lines = made.stderr.strip().splitlines()
    for place, (_, said) in enumerate(UNTRUSTED):
        assert any(f"bad-{place}" in line and said in line for line in lines), (said, made.stderr)
    assert lines[-1].endswith("What did not fail was kept.")
    assert "Traceback" not in made.stderr
    assert [path.name for path in out.iterdir()] == ["native"]
    assert rows_of(out / "native")


def start(node: LiveNode, out: Path, *more: str) -> "subprocess.Popen[str]":
    arguments = ["chainsync", "run", "--node-socket", str(node.socket), "--target", "native", *more, "--follow", "10m"]
    return subprocess.Popen(
        [sys.executable, "-m", "slotmark", *arguments, "-o", str(out)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def wait_for_blocks(session: "subprocess.Popen[str]") -> None:
    """Waits until the session says that it has seen blocks: without a terminal, in a line every few seconds."""
    assert session.stderr is not None
    for line in session.stderr:
        if "at the tip: " in line and "at the tip: 0 blocks" not in line:
            assert "of 600 s" in line
            return
    raise AssertionError("it ended before")


@pytest.mark.parametrize(
    ("stop", "code", "said"),
    [
        (lambda session, _: os.kill(session, signal.SIGINT), 130, "what was measured until now was kept"),
        (lambda _, node: os.kill(node, signal.SIGKILL), 2, "the node ended: "),
    ],
    ids=["Ctrl-C", "the node dies"],
)
def test_what_was_measured_before_the_end_is_kept(
    stop: Callable[[int, int], None], code: int, said: str, growing: LiveNode, tmp_path: Path
) -> None:
    built("native")
    out = tmp_path / "runs"
    with start(growing, out) as session:
        wait_for_blocks(session)
        stop(session.pid, growing.pid)
        _, rest = session.communicate(timeout=60)
    assert session.returncode == code, rest
    assert said in rest
    assert "Traceback" not in rest
    run = open_run(out / "native")
    assert run.table("announcements").num_rows >= 5
    (warning,) = (one for one in run.manifest.warnings if one.kind == "cut_at_tip")
    assert "of 600 s" in warning.text
    assert slotmark("show", out / "native").returncode == 0


def test_a_second_interrupt_while_clients_are_ended_loses_nothing(growing: LiveNode, tmp_path: Path) -> None:
    out = tmp_path / "runs"
    stays = changed(tmp_path, "stays", "os._exit = lambda code: time.sleep(600)")
    with start(growing, out, "--target", stays) as session:
        wait_for_blocks(session)
        os.kill(session.pid, signal.SIGINT)
        time.sleep(2)  # of the 10 s that a client may take to end
        os.kill(session.pid, signal.SIGINT)
        _, rest = session.communicate(timeout=60)
    assert session.returncode == 130, rest
    assert "what was measured until now was kept" in rest
    assert "Traceback" not in rest
    assert rows_of(out / "native")


def test_a_node_without_a_new_block_is_one_line(small_chain: Path, tmp_path: Path) -> None:
    built("native")
    with live_node(small_chain, tmp_path) as node:
        made = follow(node, tmp_path / "runs", "1s", "--target", "native")
    assert made.returncode == 2
    assert (
        made.stderr.strip()
        .splitlines()[-1]
        .startswith(f"slotmark: node at {node.socket}: announced no block within 1 s.")
    )
    assert not (tmp_path / "runs").exists()


def test_what_can_not_be_followed_is_refused(small_chain: Path, tmp_path: Path) -> None:
    built("native")
    out = ["-o", str(tmp_path / "runs")]
    file = tmp_path / "old.py"
    file.write_text(HEAD, encoding="utf-8")
    with live_node(small_chain, tmp_path) as node:
        old = ["--target", f"old={sys.executable} {file}", "--node-socket", str(node.socket)]
        native = ["--target", "native", "--node-socket", str(node.socket)]
        for arguments, said in (
            (["--follow", "1s", "--chain", str(small_chain)], "--chain: not with --follow"),
            (["--follow", "1s", "--rounds", "3", *native], "--rounds: not with --follow"),
            (["--follow", "1s", "--depth", "1", *native], "--depth: not with --follow"),
            (["--follow", "1s", "--target", "native"], "--follow: give the node's --node-socket PATH"),
            (["--follow", "soon", *native], "--follow 'soon': expected a number and a unit"),
            (["--follow", "0s", *native], "--follow: expected a time above 0"),
            (["--follow", "1s", *native, "--mode", "headers"], "give the node's --node HOST:PORT"),
            (["--follow", "1s", *native, "--magic", "7"], "refused the handshake"),
            (["--follow", "1s", *old], "Its `describe` names no mode to `follow` in"),
        ):
            made = slotmark("chainsync", "run", *arguments, *out)
            assert made.returncode == 2, arguments
            assert said in made.stderr.strip().splitlines()[-1], made.stderr
    assert not (tmp_path / "runs").exists()


def test_the_relay_passes_everything_on(small_chain: Path, tmp_path: Path) -> None:
    """A whole pipelined run of our own client goes through it as if it weren't there, and it saw each block of it."""
    command = [*built("native").command, "run", "--magic", "2", "--start", "origin", "--blocks", "300", "--depth", "30"]
    seen: list[_core.Waits | _core.Announced | _core.RolledBack | _core.Ended] = []
    with live_node(small_chain, tmp_path) as node:
        relay = _core.Relay(str(node.socket), str(tmp_path / "relay.socket"), "decode")
        more = ["--socket", relay.place, "--mode", "decode", "--progress-every", "1"]
        ran = subprocess.run([*command, *more], input="\n", capture_output=True, text=True, timeout=60, check=False)
        deadline = time.monotonic() + 20
        while not any(isinstance(one, _core.Ended) for one in seen) and time.monotonic() < deadline:
            seen += relay.events()
            time.sleep(0.02)
        relay.stop()
    records = [json.loads(line) for line in ran.stdout.splitlines()]
    digests = [one["digest"] for one in records if one["event"] == "progress"]
    announced = [one for one in seen if isinstance(one, _core.Announced)]
    assert len(digests) == 300
    assert [one.digest for one in announced][:300] == digests
    assert not any(one.awaited for one in announced)
    last = seen[-1]
    assert isinstance(last, _core.Ended)
    assert not last.by_node
    assert not Path(relay.place).exists()
