"""Hosts at the other ends of connections, by their addresses, which both ends log."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence

import msgspec

_ANY = frozenset({"0.0.0.0", "[::]", "::"})
"""Addresses that a node logs as its own end where it listens on all its addresses."""


class Connection(msgspec.Struct, frozen=True, order=True):
    """A connection as one end logs it.

    Attributes:
        host: Whose log it is in.
        local: The host's own end, as ``10.0.0.1:3001``; None where the log doesn't have it.
        remote: The peer's end.
    """

    host: str
    local: str | None
    remote: str


def peers(connections: Sequence[Connection], listening: Mapping[str, str] = {}) -> list[str | None]:
    """The host at the other end of each connection; None where it isn't known.

    In this order, and each only where exactly one other host fits: the one that logs the same two ends the other way round; the one
    whose own end is the remote end; the one that logs this host's own end as its remote end, and listens at the remote end's port on all its
    addresses; the one with the remote end's address at any port, where no two hosts share it. Where a host is known to listen counts as an own end of it.

    Args:
        connections: As the hosts' logs have them.
        listening: Where hosts listen, as far as that is known besides the logs: host to ``10.0.0.1:3001``.
    """
    known_by = [_known_by(one) for one in connections]
    known_by += [_known_as(end, host) for host, end in listening.items()]
    mirrored, local, everywhere, address = (_owners(one[place] for one in known_by) for place in range(4))

    def peer(one: Connection) -> str | None:
        place, _, port = one.remote.rpartition(":")
        for known, key in (
            (mirrored, (one.remote, one.local)),
            (local, one.remote),
            (everywhere, (one.local, port)),
            (address, place),
        ):
            others = known.get(key, frozenset()) - {one.host}
            if len(others) == 1 and (known is not address or len(known[key]) == 1):
                return next(iter(others))
        return None

    return [peer(one) for one in connections]


_Known = tuple[object, str] | None
"""By what a host is known, and the host."""


def _known_by(one: Connection) -> tuple[_Known, _Known, _Known, _Known]:
    if one.local is None:
        return None, None, None, None
    place, _, port = one.local.rpartition(":")
    mirrored = (one.local, one.remote), one.host
    if place in _ANY:
        return mirrored, None, ((one.remote, port), one.host), None
    return mirrored, *_known_as(one.local, one.host)[1:]


def _known_as(end: str, host: str) -> tuple[_Known, _Known, _Known, _Known]:
    """By what a host is known that has this end."""
    return None, (end, host), None, (end.rpartition(":")[0], host)


def _owners(known: Iterable[_Known]) -> Mapping[object, frozenset[str]]:
    found: defaultdict[object, set[str]] = defaultdict(set)
    for one in known:
        if one is not None:
            found[one[0]].add(one[1])
    return {key: frozenset(hosts) for key, hosts in found.items()}
