"""Nodes for the hosts of a live cluster: one node on all, those that the bed's ``hosts.toml`` names, or two nodes mixed in one cluster."""

import os
import random
import shlex
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec
import pyarrow as pa

from slotmark.benches.cluster.bed import Bed, Host
from slotmark.benches.cluster.live.memory import memory_left
from slotmark.benches.cluster.live.nodes import Node, resolve_node
from slotmark.benches.cluster.live.plan import Request
from slotmark.errors import BedError, TargetError, did_you_mean
from slotmark.options import memory_bytes
from slotmark.texts import read_toml
from slotmark.words import listed

FILE = "hosts.toml"
"""Its name in a bed."""

DEFAULT = "slotmark"
"""The node where nothing names one."""

LEAST_BYTES = 16 << 20
"""No node starts with less memory."""

ALL = "all"
"""The entry of that file that is of every host."""

SCHEMA = pa.schema(
    [
        ("host", pa.string()),
        ("name", pa.string()),
        ("node", pa.string()),
        ("backend", pa.string()),
        ("memory_bytes", pa.int64()),
        ("processors", pa.string()),
    ]
)
"""Table ``host_nodes``: docs/tables.md."""


class Choice(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """An entry of ``hosts.toml``, for a host or for all.

    Attributes:
        node: As of ``resolve_node``; empty for the one of ``--node``.
        arguments: More words of its command line.
        backend: One of the recipe's ``backends``; empty for the node's own choice.
        memory: The most memory that it may write to, as ``4GiB``; empty for no limit.
        processors: The numbers of those that it may run on; empty for all.
    """

    node: str = ""
    arguments: list[str] = []
    backend: str = ""
    memory: str = ""
    processors: list[int] = []


class Placed(msgspec.Struct, frozen=True):
    """The node of one host.

    Attributes:
        name: What it is called in the session: a side of a mixed cluster, else the node's name.
        given: The node and its arguments as they were named.
        node: The node.
        settings: What changes in the host's configuration.
        backend: Which backend that chooses; empty for the node's own choice.
        memory_bytes: The most memory that it may write to; None for no limit.
        processors: Those that it may run on; empty for all.
    """

    name: str
    given: str
    node: Node
    settings: Mapping[str, Any]
    backend: str
    memory_bytes: int | None
    processors: tuple[int, ...]


def place(request: Request, bed: Bed) -> dict[str, Placed]:
    """Returns the node of each host of a bed.

    Raises:
        BedError: ``hosts.toml`` is damaged, names a host that isn't there, or both it and ``--node`` name nodes.
        TargetError: There is no such node, it has no such backend, or this machine hasn't the processors.
        ArgumentError: The memory isn't a size, or out of bounds.
    """
    file = request.bed / FILE
    choices = _choices(file, bed) if file.is_file() else {}
    every = choices.get(ALL, Choice())
    placed = {}
    for host in bed.hosts:
        own = _over(every, choices.get(host.name, Choice()))
        side = request.sides.get(host.name, "")
        given = request.nodes[side] if side else request.node
        if own.node and given:
            raise BedError(
                f"{file}: {host.name} has a node, and --node names one too. Leave --node out, or node in the file."
            )
        placed[host.name] = _placed(own, given, side, f"{file}: {host.name}")
    return placed


def _choices(file: Path, bed: Bed) -> dict[str, Choice]:
    known = [host.name for host in bed.hosts]
    try:
        choices = msgspec.convert(read_toml(file), dict[str, Choice])
    except (OSError, ValueError, msgspec.ValidationError) as error:
        raise BedError(f"{file}: {error}. Mend the file; docs/live.md describes its fields.") from error
    for name in choices:
        if name not in (ALL, *known):
            raise BedError(
                f"{file}: the bed has no host '{name}'.{did_you_mean(name, known)} Name its hosts, or {ALL}."
            )
    return choices


def _over(every: Choice, own: Choice) -> Choice:
    """A host's entry over that of all hosts: what it has stands."""
    return Choice(**{name: getattr(own, name) or getattr(every, name) for name in Choice.__struct_fields__})


def _placed(choice: Choice, given: str, side: str, where: str) -> Placed:
    words = " ".join([choice.node or given or DEFAULT, *map(shlex.quote, choice.arguments)])
    node = resolve_node(words)
    if choice.backend and choice.backend not in node.recipe.backends:
        there = f"it has {listed(sorted(node.recipe.backends))}" if node.recipe.backends else "its node.toml has none"
        raise TargetError(
            f"{where}: {node.name} has no backend '{choice.backend}': {there}. Choose another, or leave it out."
        )
    usable = sorted(os.sched_getaffinity(0))
    if missing := sorted(set(choice.processors) - set(usable)):
        raise TargetError(
            f"{where}: this machine has no processor {listed(list(map(str, missing)))}, only {listed(list(map(str, usable)))}. Name those."
        )
    return Placed(
        name=side or node.name,
        given=words,
        node=node,
        settings=node.recipe.backends.get(choice.backend, {}),
        backend=choice.backend,
        memory_bytes=memory_bytes(f"{where}: memory", choice.memory, LEAST_BYTES, memory_left().total_bytes),
        processors=tuple(sorted(set(choice.processors))),
    )


def host_nodes(placed: Mapping[str, Placed]) -> pa.Table:
    """A row per host: what it ran. Of :data:`SCHEMA`."""
    return pa.Table.from_pylist(
        [
            {
                "host": host,
                "name": one.name,
                "node": one.given,
                "backend": one.backend or None,
                "memory_bytes": one.memory_bytes,
                "processors": ",".join(map(str, one.processors)) or None,
            }
            for host, one in placed.items()
        ],
        SCHEMA,
    )


def halves(hosts: Sequence[Host], names: Sequence[str], seed: int, number: int) -> dict[str, str]:
    """Returns which of two nodes each host runs in a round of a mixed session: balanced over regions and stake, drawn for two rounds and swapped in the second.

    Args:
        hosts: Hosts of the bed.
        names: The two.
        seed: Seed of the session.
        number: The round, from 1.
    """
    draws = random.Random(f"{seed} {(number - 1) // 2}")
    halved: list[list[Host]] = [[], []]

    def stake(half: Sequence[Host]) -> float:
        return sum(host.stake for host in half)

    def share(some: Sequence[Host]) -> Host | None:
        """Gives each half one of each two that follow each other by stake, the larger to the lighter half; gives back the last of an odd number."""
        order = sorted(draws.sample(some, len(some)), key=lambda host: -host.stake)
        for pair in zip(order[::2], order[1::2], strict=False):
            for half, host in zip(sorted(draws.sample(halved, 2), key=stake), pair, strict=True):
                half.append(host)
        return order[-1] if len(order) % 2 else None

    regions = sorted({host.region for host in hosts})
    left = [one for region in regions if (one := share([host for host in hosts if host.region == region]))]
    if one := share(left):
        halved[draws.randrange(2)].append(one)
    ways = names if number % 2 else names[::-1]
    of_host = {host.name: name for half, name in zip(halved, ways, strict=True) for host in half}
    return {host.name: of_host[host.name] for host in hosts}
