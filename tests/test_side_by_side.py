"""Processes of tests have networks of their own, where the system lets them."""

import subprocess
import sys
from pathlib import Path

import pytest

from tests import side_by_side
from tests.side_by_side import LIVE, scope

LISTENS = """
import socket, sys
from tests.side_by_side import own_network
if not own_network():
    sys.exit(3)
listener = socket.create_server(("127.0.0.1", 30_001))
socket.create_connection(("127.0.0.1", 30_001)).close()
print("listens", flush=True)
sys.stdin.read()
"""


def test_two_processes_listen_on_one_port() -> None:
    started = [
        subprocess.Popen([sys.executable, "-c", LISTENS], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        for _ in range(2)
    ]
    lines = [process.stdout.readline() if process.stdout else b"" for process in started]
    for process in started:
        process.communicate()
    if all(process.returncode == 3 for process in started):
        pytest.skip("this user may not make networks: the tests of live clusters are run by one process")
    assert lines == [b"listens\n", b"listens\n"]


def test_a_network_that_cannot_be_used_is_left_again(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuses() -> None:
        raise PermissionError

    before = Path("/proc/thread-self/ns/net").readlink()
    monkeypatch.setattr(side_by_side, "_begin_loopback", refuses)
    assert not side_by_side.own_network()
    assert Path("/proc/thread-self/ns/net").readlink() == before


def test_where_ports_are_shared_one_process_runs_all_live_clusters() -> None:
    assert {scope("tests/cluster/live/test_live.py"), scope("tests/docs/test_demo.py")} == {LIVE}
    assert scope("tests/test_imports.py") == "tests/test_imports.py"
