"""Our server as the session starts it, and what becomes of bytes that a node sends wrong."""

import os
import socket
import threading
from pathlib import Path

import pytest

from slotmark.benches.chainsync import server as server_module
from slotmark.benches.chainsync.server import ReplayServer
from slotmark.errors import ServerError

from ..conftest import run_arguments, slotmark
from .conftest import built


def test_a_server_that_hangs_before_it_listens_is_stopped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    chain = tmp_path / "chain"
    chain.mkdir()
    os.mkfifo(chain / "00000.chunk")  # opening it waits for a writer that never comes
    os.mkfifo(chain / "00000.secondary")
    os.mkfifo(chain / "00000.primary")
    monkeypatch.setattr(server_module, "START_TIMEOUT_S", 3)
    replay = ReplayServer(chain, magic=2, start="origin", blocks=1, reply_delay_us=0, cores=frozenset())
    with pytest.raises(ServerError, match="the server did not listen within 3 s and was stopped"), replay:
        pass
    with pytest.raises(ProcessLookupError):
        os.kill(replay.pid, 0)


def test_the_socket_is_for_its_user_alone_in_a_folder_of_its_own(server: ReplayServer) -> None:
    place = Path(server.listening.socket)
    assert place.stat().st_mode & 0o777 == 0o700
    assert place.parent.stat().st_mode & 0o777 == 0o700


class Spoiler:
    """Passes bytes on between clients and a node's socket, and flips one bit at the same place of every answer."""

    def __init__(self, place: Path, node: str, at: int) -> None:
        self._node, self._at = node, at
        self._listener = socket.socket(socket.AF_UNIX)
        self._listener.bind(str(place))
        self._listener.listen()
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self) -> None:
        while True:
            near, _ = self._listener.accept()
            far = socket.socket(socket.AF_UNIX)
            far.connect(self._node)
            threading.Thread(target=self._pass, args=(near, far, -1), daemon=True).start()
            threading.Thread(target=self._pass, args=(far, near, self._at), daemon=True).start()

    @staticmethod
    def _pass(source: socket.socket, target: socket.socket, at: int) -> None:
        passed = 0
        try:
            while data := bytearray(source.recv(1 << 16)):
                if passed <= at < passed + len(data):
                    data[at - passed] ^= 1
                passed += len(data)
                target.sendall(data)
            target.shutdown(socket.SHUT_WR)
        except OSError:
            pass  # the other side is gone


@pytest.mark.parametrize("mode", ["raw", "decode"])
@pytest.mark.parametrize("at", [None, 30_000, 123_456])
def test_bytes_that_are_wrong_on_every_connection_are_found(
    at: int | None, mode: str, server: ReplayServer, tmp_path: Path
) -> None:
    built("native")
    built("floor")
    place = tmp_path / "spoilt.socket"
    Spoiler(place, server.listening.socket, -1 if at is None else at)
    arguments = run_arguments(Path("unused"), tmp_path / "runs", "--target", "native", "--mode", mode, "--depth", "1")
    where = arguments.index("--chain")
    ended = slotmark(*arguments[:where], *arguments[where + 2 :], "--node-socket", place, "--start", "origin")
    if at is None:
        assert ended.returncode == 0, ended.stderr
    else:
        assert ended.returncode == 2
        last = ended.stderr.strip().splitlines()[-1]
        assert last.startswith(f"slotmark: native ({mode}, sequential): the server sent wrong bytes: block "), last
        assert not (tmp_path / "runs").exists()
