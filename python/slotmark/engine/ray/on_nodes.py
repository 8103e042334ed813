"""Code that Ray runs on nodes: workers that do pieces, actors that keep a process or look at their node."""

import importlib
import importlib.metadata
import os
import platform
import socket
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import msgspec

from slotmark.engine.kept import files_in
from slotmark.engine.local import outcome
from slotmark.engine.piece import Piece
from slotmark.engine.ray.messages import Made
from slotmark.engine.ray.nodes import Node
from slotmark.errors import EngineError
from slotmark.temporary import temporary_folder
from slotmark.versions import slotmark_commit, slotmark_version


def in_worker(piece: Piece[Any], versions: tuple[str, ...]) -> tuple[Any, str, float]:
    """Does a piece in a worker. Returns the output or what it raised, the node's name, and the seconds that it took.

    Versions are compared here too: a node may have joined the cluster after all were asked.
    """
    util: Any = importlib.import_module("ray.util")
    node = Node(host=socket.gethostname(), address=util.get_node_ip_address()).name
    if versions != own_versions():
        others = ", ".join(own_versions())
        wrong = EngineError(
            f"{node}: it joined the cluster with another version: {others}. Install the same on all nodes."
        )
        return wrong, node, 0.0
    began = time.monotonic()
    return _outcome(piece), node, time.monotonic() - began


def _outcome(piece: Piece[Any]) -> "bytes | Made | BaseException":
    """The output of a piece with the files that it made, or what it raised."""
    if piece.folder is None:
        return outcome(piece, lambda _done, _total: None)
    with temporary_folder() as name:
        folder = Path(name)
        found = outcome(msgspec.structs.replace(piece, folder=folder), lambda _done, _total: None)
        if isinstance(found, BaseException):
            return found
        return Made(found, [(one, (folder / one).read_bytes()) for one in files_in(folder)])


def own_versions() -> tuple[str, ...]:
    """The versions that decide outputs: of slotmark, with its commit, and of Python."""
    return slotmark_version(), slotmark_commit(), platform.python_version().rpartition(".")[0]


def here() -> Node:
    """This machine."""
    return Node(
        host=socket.gethostname(),
        ray=importlib.metadata.version("ray"),
        python=platform.python_version(),
        slotmark=slotmark_version(),
        commit=slotmark_commit(),
        secured=asks_for_token(),
    )


def asks_for_token() -> bool:
    """Returns whether Ray asks for a token here, by its own settings."""
    core: Any = importlib.import_module("ray._raylet")
    return core.get_authentication_mode() == core.AuthenticationMode.TOKEN


class Keeper:
    """The actor that keeps a process on its node, and passes messages to it."""

    def __init__(self, start: Callable[[], Any]) -> None:
        self._process = start()

    def passed_on(self, content: Any) -> Any:
        """Gives the process a message, and gives back its answer."""
        self._process.pipe.send(content)
        return self._process.pipe.recv()

    def stopped(self) -> None:
        """Ends the process, and waits for that."""
        self._process.stop()

    def beside(self) -> list[int]:
        """Ids of this node's processes of Ray: those that its raylet has started, itself, and those of the head where they run beside it."""
        worker: Any = importlib.import_module("ray._private.worker")
        session = worker._global_node.get_session_dir_path().encode()
        here = Path("/proc/self/ns/net").readlink()
        found = [os.getppid()]
        for entry in Path("/proc").glob("[0-9]*"):
            with suppress(OSError):  # it has ended, or is another user's
                if session in (entry / "cmdline").read_bytes() and (entry / "ns/net").readlink() == here:
                    found.append(int(entry.name))
        return sorted(set(found))


def visitor_class() -> type:
    """An actor that looks at a node: a class inside a function, which Ray sends as it is, as :func:`question`."""

    class Visitor:
        def now(self) -> int:
            import time  # noqa: PLC0415 - of the node that is asked

            return time.time_ns()

        def missing(self, programs: list[str], ports: list[int], shares: bool) -> list[str]:
            import os  # noqa: PLC0415 - of the node that is asked
            import shutil  # noqa: PLC0415 - of the node that is asked
            import socket  # noqa: PLC0415

            wrong = [f"no program {one}" for one in programs if shutil.which(one) is None]
            for port in ports:
                try:
                    with socket.socket() as tried:
                        tried.bind(("0.0.0.0", port))
                except OSError as error:
                    wrong.append(f"port {port}: {error.strerror}")
            if shares and not os.access("/dev/net/tun", os.R_OK | os.W_OK):
                wrong.append(
                    "/dev/net/tun can't be opened, so hosts that share this machine have no latencies between them"
                )
            return wrong

    return Visitor


def question() -> Callable[[], dict[str, Any]]:
    """The question to a node: a function inside another, which Ray sends as it is, so that it answers too where slotmark isn't installed."""

    def answer() -> dict[str, Any]:
        import importlib  # noqa: PLC0415 - of the node that is asked
        import importlib.metadata  # noqa: PLC0415
        import platform  # noqa: PLC0415
        import socket  # noqa: PLC0415

        core: Any = importlib.import_module("ray._raylet")
        found = {
            "host": socket.gethostname(),
            "ray": importlib.metadata.version("ray"),
            "python": platform.python_version(),
            "secured": core.get_authentication_mode() == core.AuthenticationMode.TOKEN,
        }
        try:
            from slotmark.versions import slotmark_commit, slotmark_version  # noqa: PLC0415
        except ImportError:
            return found
        return {**found, "slotmark": slotmark_version(), "commit": slotmark_commit()}

    return answer
