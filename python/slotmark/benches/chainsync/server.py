"""The server that a session's targets follow: our own over a chain folder, or another node."""

import os
import socket
import struct
import subprocess
import tempfile
import time
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Protocol, Self

import msgspec

from slotmark.benches.chainsync.request import ServeRequest
from slotmark.benches.chainsync.setting import Setting
from slotmark.errors import ArgumentError, ServerError
from slotmark.measure.process import end, first_line, how_ended, last_words_in, peak_bytes
from slotmark.measure.process import start as start_process
from slotmark.measure.shipped import built_program, option_words
from slotmark.numbers import plain
from slotmark.temporary import temporary_folder

START_TIMEOUT_S = 120
"""Time that our server may take until it listens: it frames the window's blocks first."""

CONNECT_TIMEOUT_S = 10
"""Time that a node may take to accept a connection at its socket."""


class Server(Protocol):
    """The server of a session; a context manager."""

    @property
    def label(self) -> str:
        """Its name in a report."""
        ...

    def address(self, setting: Setting) -> str:
        """The address that a target of this setting connects to; ArgumentError where there is none."""
        ...

    def cpu_ns(self) -> int | None:
        """Its CPU time so far, or None where it can't be known."""
        ...

    def peak_bytes(self) -> int | None:
        """Its largest resident set so far, or None where it can't be known."""
        ...

    def check(self) -> None:
        """Raises ServerError where it has ended."""
        ...

    def __enter__(self) -> Self: ...

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None: ...


LOOK_US = 100
"""Time that our server looks for a request before it sleeps, where it has a core of its own."""


PROGRAM = "slotmark-server"


def server_command(request: ServeRequest) -> list[str]:
    """The words that start our server; TargetError where it isn't built."""
    path = built_program(PROGRAM, "the server that replays chains")
    return [str(path), *option_words(msgspec.structs.asdict(request))]


class Listening(msgspec.Struct):
    """The first line of our server."""

    socket: str
    address: str


class Line(msgspec.Struct):
    """Any later line: the answer to a question, or how a connection went, which has no such field."""

    busy_ns: int | None = None


class ReplayServer:
    """Our server, in a process of its own, replaying a chain folder over both protocols.

    It ends when its standard input does, and is killed with its process group when this process is gone.
    """

    def __init__(
        self, chain: Path, *, magic: int, start: str, blocks: int, reply_delay_us: float, cores: frozenset[int]
    ) -> None:
        self._chain, self._magic, self._window = chain, magic, (start, blocks)
        self._reply_delay_us, self._cores = reply_delay_us, cores
        self._process: subprocess.Popen[bytes] | None = None
        self._folder: tempfile.TemporaryDirectory[str] | None = None
        self._listening: Listening | None = None

    @property
    def label(self) -> str:
        """Its name in a report."""
        slow = f", {plain(self._reply_delay_us)} us before each reply" if self._reply_delay_us else ""
        return f"slotmark's replay server{slow}"

    def __enter__(self) -> Self:
        """Starts it and waits until it listens; ServerError where it doesn't."""
        self._folder = temporary_folder()
        start, blocks = self._window
        asked = ServeRequest(
            chain=self._chain,
            magic=self._magic,
            start=start,
            blocks=blocks,
            socket=Path(self._folder.name) / "node.socket",
            listen="127.0.0.1:0",
            reply_delay_us=self._reply_delay_us,
            look_us=LOOK_US if self._cores else 0,
            until_stdin_ends=True,
            json=True,
        )
        command = server_command(asked)
        pipe = subprocess.PIPE
        self._log = Path(self._folder.name) / "log"
        with self._log.open("wb") as log:
            process = start_process(
                "the server", command, cores=self._cores, group="the server", stdin=pipe, stdout=pipe, stderr=log
            )
        self._process = process
        try:
            assert process.stdout is not None
            line = first_line(process.stdout, START_TIMEOUT_S)
            if line is None:
                raise ServerError(
                    f"the server did not listen within {START_TIMEOUT_S} s and was stopped. "
                    f"See that the disk of the chain folder responds. {self._last_words()}".strip()
                )
            if not line:
                process.wait()
                raise ServerError(
                    self._last_words() or f"the server {how_ended(process.returncode)} before it listened."
                )
            self._listening = msgspec.json.decode(line, type=Listening)
        except BaseException:
            self.__exit__(None, None, None)
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Ends it and removes its socket."""
        if self._process is not None:
            if self._process.stdin is not None:
                self._process.stdin.close()
            with suppress(subprocess.TimeoutExpired):
                self._process.wait(timeout=5)
            end(self._process)
        if self._folder is not None:
            self._folder.cleanup()

    def _running(self) -> subprocess.Popen[bytes]:
        if self._process is None:
            raise ServerError("the server has not been started.")
        return self._process

    def _last_words(self) -> str:
        return last_words_in(self._log).removeprefix(f"{PROGRAM}: ")

    @property
    def listening(self) -> Listening:
        """The places where it listens."""
        if self._listening is None:
            raise ServerError("the server has not been started.")
        return self._listening

    def address(self, setting: Setting) -> str:
        """Its socket for node-to-client, its TCP address for node-to-node."""
        return self.listening.address if setting.node_to_node else self.listening.socket

    def cpu_ns(self) -> int | None:
        """Its CPU time, without the time it only looked for requests; None where it has just ended, which :meth:`check` reports."""
        process = self._running()
        assert process.stdin is not None
        assert process.stdout is not None
        try:
            process.stdin.write(b"\n")
            process.stdin.flush()
        except BrokenPipeError:
            return None
        for line in process.stdout:
            busy_ns = msgspec.json.decode(line, type=Line).busy_ns
            if busy_ns is not None:
                return busy_ns
        return None

    def peak_bytes(self) -> int | None:
        """Its largest resident set so far; None where it has just ended."""
        return peak_bytes(self._running().pid) or None

    @property
    def pid(self) -> int:
        """The id of its process."""
        return self._running().pid

    def check(self) -> None:
        """Raises ServerError with its last words where it has ended."""
        time.sleep(0.05)  # a client sees the end of a connection before the process is gone
        code = self._running().poll()
        if code is not None:
            raise ServerError(
                f"the server {how_ended(code)} in the middle of the session. {self._last_words()}".strip()
            )


class Node:
    """A node that was not started by slotmark: a socket for node-to-client, an address for node-to-node, or both."""

    def __init__(self, path: Path | None, address: str | None) -> None:
        self._socket, self._address = path, address
        self.program: str | None = None
        """The name of the program that listens at the socket; None where the system doesn't give it, as for an address."""

    @property
    def place(self) -> str:
        """Its socket, its address, or both."""
        return " and ".join(str(place) for place in (self._socket, self._address) if place)

    @property
    def label(self) -> str:
        """Its name in a report."""
        return f"node at {self.place}"

    def __enter__(self) -> Self:
        """Nothing to start; ServerError where the socket isn't there, or no program listens at it."""
        if self._socket is not None:
            if not self._socket.is_socket():
                raise ServerError(
                    f"{self._socket}: not a socket. Is the node running, and is this its node-to-client socket?"
                )
            self.program = _program_at(self._socket)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Nothing to end."""

    def address(self, setting: Setting) -> str:
        """The socket or the address; ArgumentError where the one that the setting needs wasn't given."""
        if setting.node_to_node:
            if self._address is None:
                raise ArgumentError(f"--mode {setting.mode} uses node-to-node: give the node's --node HOST:PORT.")
            return self._address
        if self._socket is None:
            raise ArgumentError(f"--mode {setting.mode} uses node-to-client: give the node's --node-socket PATH.")
        return os.fspath(self._socket)

    def cpu_ns(self) -> int | None:
        """None: the node's process isn't measured."""
        return None

    def peak_bytes(self) -> int | None:
        """None: the node's process isn't measured."""
        return None

    def check(self) -> None:
        """Nothing to check: a lost connection shows in the target's own error."""


def _program_at(path: Path) -> str | None:
    """The name of the program that listens at a socket; None where the system doesn't give it, as macOS. ServerError where none does."""
    if not hasattr(socket, "SO_PEERCRED"):
        return None
    with socket.socket(socket.AF_UNIX) as caller:
        # The kernel's timeout waits while the queue of connections is full, where settimeout gives up at once.
        caller.setsockopt(socket.SOL_SOCKET, socket.SO_SNDTIMEO, struct.pack("ll", CONNECT_TIMEOUT_S, 0))
        try:
            caller.connect(os.fspath(path))
            pid, _, _ = struct.unpack("3i", caller.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12))
        except BlockingIOError as error:
            raise ServerError(
                f"{path}: no connection was accepted within {CONNECT_TIMEOUT_S} s. Does the node hang? Restart it."
            ) from error
        except OSError as error:
            raise ServerError(f"{path}: can't connect ({error.strerror or error}). Is the node running?") from error
    for name in (lambda: Path(f"/proc/{pid}/exe").readlink().name, Path(f"/proc/{pid}/comm").read_text):
        with suppress(OSError):
            return name().strip()
    return None
