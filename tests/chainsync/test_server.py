"""Our server as the session starts it, and what becomes of bytes that a node sends wrong."""

import os
import re
import shlex
import shutil
import socket
import sys
import threading
import zlib
from contextlib import ExitStack
from pathlib import Path

import pytest

from slotmark.benches.chainsync import server as server_module
from slotmark.benches.chainsync.server import Node, ReplayServer
from slotmark.benches.chainsync.setting import MODES, Mode, Setting
from slotmark.errors import ServerError
from slotmark.run import open_run

from ..conftest import run_arguments, slotmark
from .conftest import built
from .programs import CHEAT, program


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


def test_a_node_that_accepts_no_connection_is_given_up_after_a_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(server_module, "CONNECT_TIMEOUT_S", 1)
    path = tmp_path / "node.socket"
    with ExitStack() as sockets:
        listener = sockets.enter_context(socket.socket(socket.AF_UNIX))
        listener.bind(str(path))
        listener.listen(0)
        with pytest.raises(BlockingIOError):  # the queue is full
            while True:
                caller = sockets.enter_context(socket.socket(socket.AF_UNIX))
                caller.setblocking(False)
                caller.connect(str(path))
        with pytest.raises(ServerError, match=r"node\.socket: no connection was accepted within 1 s"), Node(path, None):
            pass


def test_a_node_that_cannot_be_connected_to_is_named_with_the_reason(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    gone, far = tmp_path / "gone.socket", tmp_path / ("far" * 40) / "node.socket"
    far.parent.mkdir()
    monkeypatch.chdir(far.parent)  # the whole path is too long to listen at
    for place in (str(gone), far.name):
        with socket.socket(socket.AF_UNIX) as listener:
            listener.bind(place)
    for path, why in ((gone, "Connection refused"), (far, "AF_UNIX path too long")):
        with pytest.raises(ServerError, match=rf"can't connect \({why}\)\. Is the node running\?"), Node(path, None):
            pass


class Spoiler:
    """Passes bytes on between clients and a node, and flips one bit at the same place of every answer.

    Attributes:
        address: Where clients find it: a socket in ``folder``, or a port where the node is a ``HOST:PORT``.
    """

    def __init__(self, folder: Path, node: str, at: int) -> None:
        self._at = at
        host, _, port = node.rpartition(":")
        self._family, self._node = (socket.AF_INET, (host, int(port))) if host else (socket.AF_UNIX, node)
        self._listener = socket.socket(self._family)
        self._listener.bind((host, 0) if host else str(folder / "spoilt.socket"))
        self._listener.listen()
        name = self._listener.getsockname()
        self.address = f"{name[0]}:{name[1]}" if host else name
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self) -> None:
        while True:
            near, _ = self._listener.accept()
            far = socket.socket(self._family)
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


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("at", [None, 30_000, 123_456])
def test_bytes_that_are_wrong_on_every_connection_are_found(
    at: int | None, mode: Mode, server: ReplayServer, tmp_path: Path
) -> None:
    built("native")
    built("floor")
    setting = Setting(mode, 1)
    spoiler = Spoiler(tmp_path, server.address(setting), -1 if at is None else at)
    option = "--node" if setting.node_to_node else "--node-socket"
    arguments = run_arguments(Path("unused"), tmp_path / "runs", "--target", "native", "--mode", mode, "--depth", "1")
    where = arguments.index("--chain")
    ended = slotmark(*arguments[:where], *arguments[where + 2 :], option, spoiler.address, "--start", "origin")
    if at is None:
        assert ended.returncode == 0, ended.stderr
        (text,) = [
            one.text for one in open_run(tmp_path / "runs" / "native").manifest.warnings if one.kind == "other_node"
        ]
        if setting.node_to_node:
            assert "(program" not in text
            assert re.search(r"reached by node-to-node version \d\d, was not started", text), text
        else:
            assert f"(program '{Path(sys.executable).resolve().name}')" in text
            assert re.search(r"reached by node-to-client version \d\d, was not started", text), text
    else:
        assert ended.returncode == 2
        last = ended.stderr.strip().splitlines()[-1]
        assert last.startswith(f"slotmark: native ({mode}, sequential): the server sent wrong bytes: block "), last
        assert not (tmp_path / "runs").exists()


def test_a_target_that_is_called_as_our_client_proves_nothing(server: ReplayServer, tmp_path: Path) -> None:
    built("native")
    built("floor")
    cheat = program(tmp_path, "cheat", CHEAT)
    arguments = run_arguments(Path("unused"), tmp_path / "runs", "--target", f"native={shlex.join(cheat.command)}")
    where = arguments.index("--chain")
    node = ("--node-socket", server.address(Setting("decode", 1)), "--start", "origin", "--depth", "1")
    ended = slotmark(*arguments[:where], *arguments[where + 2 :], *node)
    assert ended.returncode == 2, ended.stdout
    assert "its digest is not that of the blocks it was given" in ended.stderr


def test_a_body_that_is_not_its_headers_is_found_in_a_chain_folder(small_chain: Path, tmp_path: Path) -> None:
    built("native")
    built("floor")
    chain = shutil.copytree(small_chain, tmp_path / "chain")
    blocks, index = bytearray((chain / "00000.chunk").read_bytes()), bytearray((chain / "00000.secondary").read_bytes())
    entries = [index[start : start + 56] for start in range(0, len(index), 56)]
    offsets = [int.from_bytes(entry[:8]) for entry in entries] + [len(blocks)]
    place = max(range(len(entries)), key=lambda number: offsets[number + 1] - offsets[number])
    blocks[offsets[place + 1] - 200] ^= 1
    changed = zlib.crc32(blocks[offsets[place] : offsets[place + 1]])
    index[56 * place + 12 : 56 * place + 16] = changed.to_bytes(4)  # whoever changed it made the checksum right
    (chain / "00000.chunk").write_bytes(blocks)
    (chain / "00000.secondary").write_bytes(index)
    ended = slotmark(*run_arguments(chain, tmp_path / "runs", "--target", "native"), "--start", "origin")
    assert ended.returncode == 2
    slot = int.from_bytes(entries[place][48:56])
    said = f"00000.chunk: damaged at offset {offsets[place]}: the body of slot {slot} doesn't have the hash"
    assert said in ended.stderr, ended.stderr
    assert not (tmp_path / "runs").exists()
