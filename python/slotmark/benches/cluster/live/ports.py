"""Ports of hosts that have no network of their own: each is one cluster's at a time."""

import errno
import socket
import time
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager

from slotmark.benches.cluster.live.rundir import LOOPBACK
from slotmark.errors import TargetError

_ENDING_S = 5.0
"""Time in which a process that was killed gives back its memory, and behind that its ports."""


@contextmanager
def own_ports(places: Mapping[str, tuple[str, int]]) -> Iterator[None]:
    """Keeps the ports of hosts from other live clusters of this machine while the block lasts.

    Our nodes share a port with others of ours, so that two clusters at the same ports would connect to each other, and neither would notice.

    Args:
        places: The address and the port of each host, by name.

    Raises:
        TargetError: Another live cluster has one, or another program listens there.
    """
    until = time.monotonic() + _ENDING_S
    with ExitStack() as held:
        for host, (address, port) in places.items():
            # A name without a file, which the kernel keeps per network as it does ports, and which ends with this process.
            name = held.enter_context(socket.socket(socket.AF_UNIX))
            if not _binds(name, f"\0slotmark cluster at {address}:{port}"):
                raise TargetError(
                    f"{host}: {address}:{port} is another live cluster's, which runs now. Wait for its end{_or_else(address)}."
                )
            while not _is_free(address, port):
                if time.monotonic() > until:
                    raise TargetError(
                        f"{host}: another program listens on {address}:{port}. End it (`ss -ltnp` names it){_or_else(address)}."
                    )
                time.sleep(0.05)
        yield


def _or_else(address: str) -> str:
    """Advice for where hosts have no network of their own because none was asked for."""
    return ", or choose --network wan, where hosts have networks of their own" if address == LOOPBACK else ""


def _is_free(address: str, port: int) -> bool:
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)  # connections that have ended don't count
        return _binds(probe, (address, port))


def _binds(one: socket.socket, place: str | tuple[str, int]) -> bool:
    """Binds a socket. Returns False where the place is taken; what else may be wrong with it the node finds."""
    try:
        one.bind(place)
    except OSError as error:
        return error.errno != errno.EADDRINUSE
    return True
