"""The emulated network of a bed, with programs inside that reach each other or don't."""

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from slotmark.benches.cluster.bed import Bed, read_bed
from slotmark.benches.cluster.live import launching
from slotmark.benches.cluster.live.launching import Wan
from slotmark.benches.cluster.live.network import GENERATOR, wan_topology
from slotmark.errors import ServerError
from tests.cluster.live.machine import PATIENCE_S, of_conductor, skip_without_network, skip_without_router
from tests.conftest import slotmark

DATAGRAMS = 20

PROGRAM = f"""
import contextlib, socket, sys

role, own, next_host, last = sys.argv[1:]
datagrams = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
datagrams.bind((own, 4000))
datagrams.setblocking(False)
if role != "first":
    with socket.create_server((own, 4000)) as server:
        server.settimeout({PATIENCE_S})
        print("ready", flush=True)
        server.accept()
if role != "last":
    for _ in range({DATAGRAMS}):
        datagrams.sendto(role.encode(), (last, 4000))
    socket.create_connection((next_host, 4000), timeout={PATIENCE_S})
came = set()
with contextlib.suppress(BlockingIOError):
    while True:
        came.add(datagrams.recv(100).decode())
print(*sorted(came))
"""
"""A host of a line: sends datagrams to its end, connects to the next once it was connected to itself, and prints what datagrams came.

Packets that a host sends are taken in order, so what the first host sent to the last without a delay would be there before what the
one in the middle sends after it.
"""


@pytest.fixture(scope="module")
def line(tmp_path_factory: pytest.TempPathFactory) -> Bed:
    """A bed of three hosts in a line: the first and the last have no link."""
    folder = tmp_path_factory.mktemp("line") / "bed"
    made = slotmark(
        *("cluster", "create", "value-only-5", "--hosts", "3", "-o", folder),
        *("--set", 'network.topology={kind="line"}', "--set", "utxo_entries=100", "--set", "delegators=10"),
    )
    assert made.returncode == 0, made.stderr
    return read_bed(folder)


@contextmanager
def started(words: list[str]) -> Iterator[subprocess.Popen[str]]:
    """A program, killed at the end."""
    with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as process:
        try:
            yield process
        finally:
            process.kill()


def test_only_hosts_with_a_link_reach_each_other(line: Bed, tmp_path: Path) -> None:
    skip_without_router()
    plan = wan_topology(line, 1)
    between = {(link["from"], link["to"]) for link in plan["links"]}
    assert {pair for pair in between if GENERATOR not in pair} == {
        ("node-0", "node-1"),
        ("node-1", "node-0"),
        ("node-1", "node-2"),
        ("node-2", "node-1"),
    }
    try:
        wan = Wan(plan, tmp_path)
    except ServerError as error:
        skip_without_network(str(error))
        raise
    first, middle, last = (host.host_addr for host in line.hosts)

    def words(host: str, role: str, own: str, next_host: str) -> list[str]:
        return [*wan.inside(host), sys.executable, "-c", PROGRAM, role, own, next_host, last]

    try:
        with (
            started(words("node-2", "last", last, "")) as at_last,
            started(words("node-1", "middle", middle, last)) as at_middle,
        ):
            for process in (at_last, at_middle):
                assert process.stdout
                assert process.stdout.readline() == "ready\n"
            with started(words("node-0", "first", first, middle)) as at_first:
                assert at_first.communicate(timeout=PATIENCE_S)[0] == "\n"
            assert at_middle.communicate(timeout=PATIENCE_S)[0] == "\n"
            assert at_last.communicate(timeout=PATIENCE_S)[0] == "middle\n"
    finally:
        statistics = wan.stop()
    assert statistics is not None
    assert statistics.lost_as_planned >= DATAGRAMS


def router(folder: Path, text: str) -> Path:
    """A program in the place of the router."""
    program = folder / "router"
    program.write_text(f"#!/bin/sh\n{text}\n")
    program.chmod(0o755)
    return program


def test_a_router_that_never_gets_ready_is_stopped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program = router(tmp_path, "exec sleep 1000")
    monkeypatch.setattr(launching, "wan_program", lambda: program)
    monkeypatch.setattr(launching, "ROUTER_START_S", 3)
    with pytest.raises(ServerError, match="the emulated network wasn't there within 3 s and was stopped"):
        Wan({}, tmp_path)
    assert not of_conductor(os.getpid())


def test_last_words_of_a_router_are_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program = router(tmp_path, """echo '{"ready":{}}'; echo 'slotmark-wan: no more memory' >&2; exit 3""")
    monkeypatch.setattr(launching, "wan_program", lambda: program)
    wan = Wan({}, tmp_path)
    assert wan.last_words() == f"it exited 3; the end of {tmp_path / 'wan.stderr'}: slotmark-wan: no more memory"
    assert wan.ended == 3
    assert wan.stop() is None


def test_a_router_that_refuses_its_plan_is_named_with_why(tmp_path: Path) -> None:
    skip_without_router()
    with pytest.raises(ServerError, match=r"^--network wan: .*wan\.json.*missing field `hosts`"):
        Wan({"default": {"delay_us": 0}}, tmp_path)
