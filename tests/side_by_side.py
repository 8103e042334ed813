"""The tests that one process runs, where several run them side by side."""

import ctypes
import fcntl
import os
import socket
import struct
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from xdist.scheduler import LoadScopeScheduling

REPO = Path(__file__).resolve().parents[1]
LIVE = "live clusters"
"""The tests of files that run live clusters: their nodes would meet at the same ports."""

_CLONE_NEWNET = 0x40000000
_SIOCGIFFLAGS, _SIOCSIFFLAGS, _SIOCSIFADDR, _IFF_UP = 0x8913, 0x8914, 0x8916, 1
"""Linux's names: sched.h, linux/sockios.h and net/if.h."""

_machines: list[int] = []
"""The machine's network, as an open file, in a process that has one of its own."""


class ByFile(LoadScopeScheduling):
    """Gives a file's tests to one process, because they share its fixtures; all tests of live clusters too, where processes share a network."""

    def __init__(self, *given: Any) -> None:
        super().__init__(*given)
        self._apart = _networks_can_be_made()

    def _split_scope(self, nodeid: str) -> str:
        file = nodeid.partition("::")[0]
        return file if self._apart else scope(file)


def processes() -> int:
    """One more than processors: many tests wait for clusters, clients and limits of time."""
    return (os.cpu_count() or 1) + 1


def scope(file: str) -> str:
    """The group of a file's tests, where ports are shared.

    Args:
        file: Its path from the repository's root, as pytest names it.
    """
    runs_live = file.startswith("tests/cluster/live/") or any(
        word in (REPO / file).read_text(encoding="utf-8") for word in ('"cluster", "run"', 'run_demo("live"')
    )
    return LIVE if runs_live else file


def own_network() -> bool:
    """Gives this process a network of its own, which is a loopback alone; returns False where that can't be done, and all stays as it was."""
    libc = ctypes.CDLL(None, use_errno=True)
    if not hasattr(libc, "unshare"):
        return False
    machines = os.open("/proc/thread-self/ns/net", os.O_RDONLY | os.O_CLOEXEC)
    if libc.unshare(_CLONE_NEWNET) != 0:
        os.close(machines)
        return False
    try:
        _begin_loopback()
    except OSError:
        assert libc.setns(machines, _CLONE_NEWNET) == 0
        os.close(machines)
        return False
    _machines.append(machines)
    return True


def _begin_loopback() -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as any_socket:
        asked = struct.pack("16sh14x", b"lo", 0)
        (flags,) = struct.unpack_from("h", fcntl.ioctl(any_socket, _SIOCGIFFLAGS, asked), 16)
        fcntl.ioctl(any_socket, _SIOCSIFFLAGS, struct.pack("16sh14x", b"lo", flags | _IFF_UP))
        # With 127.0.0.1 alone, the C library takes the machine for one without IPv4, and programs that ask for any address get none.
        fcntl.ioctl(any_socket, _SIOCSIFADDR, struct.pack("16sh2x4s8x", b"lo:1", socket.AF_INET, bytes([127, 0, 0, 2])))


@contextmanager
def machines_network() -> Iterator[None]:
    """Gives this process the machine's network for a while: packages come from elsewhere."""
    if not _machines:
        yield
        return
    libc = ctypes.CDLL(None, use_errno=True)
    own = os.open("/proc/thread-self/ns/net", os.O_RDONLY | os.O_CLOEXEC)
    try:
        assert libc.setns(_machines[0], _CLONE_NEWNET) == 0
        yield
    finally:
        assert libc.setns(own, _CLONE_NEWNET) == 0
        os.close(own)


def _networks_can_be_made() -> bool:
    """Tries it, in a process that ends."""
    tried = "import sys; from tests.side_by_side import own_network; sys.exit(not own_network())"
    return subprocess.run([sys.executable, "-c", tried], cwd=REPO, check=False).returncode == 0
