"""Ports of hosts that have no network of their own: each is one cluster's at a time."""

import errno
import socket
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager

from slotmark.errors import TargetError

_ELSEWHERE = "or choose --network wan, where hosts have networks of their own"


@contextmanager
def own_ports(places: Mapping[str, tuple[str, int]]) -> Iterator[None]:
    """Keeps the ports of hosts from other live clusters of this machine while the block lasts.

    Our nodes share a port with others of ours, so that two clusters at the same ports would connect to each other, and neither would notice.

    Args:
        places: The address and the port of each host, by name.

    Raises:
        TargetError: Another live cluster has one, or another program listens there.
    """
    with ExitStack() as held:
        for host, (address, port) in places.items():
            # A name without a file, which the kernel keeps per network as it does ports, and which ends with this process.
            name = held.enter_context(socket.socket(socket.AF_UNIX))
            if not _binds(name, f"\0slotmark cluster at {address}:{port}"):
                raise TargetError(
                    f"{host}: {address}:{port} is another live cluster's, which runs now. Wait for its end, {_ELSEWHERE}."
                )
            with socket.socket() as probe:
                probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)  # connections that have ended don't count
                if not _binds(probe, (address, port)):
                    raise TargetError(
                        f"{host}: another program listens on {address}:{port}. End it (`ss -ltnp` names it), {_ELSEWHERE}."
                    )
        yield


def _binds(one: socket.socket, place: str | tuple[str, int]) -> bool:
    """Binds a socket. Returns False where the place is taken; what else may be wrong with it the node finds."""
    try:
        one.bind(place)
    except OSError as error:
        return error.errno != errno.EADDRINUSE
    return True
