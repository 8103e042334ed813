"""Nodes for the hosts of a live cluster: one node on all, those that the bed's ``hosts.toml`` names, or two nodes mixed in one cluster."""

import os
import random
import shlex
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec
import pyarrow as pa

from slotmark.benches.cluster.bed import Bed, Host
from slotmark.benches.cluster.live.memory import memory_left
from slotmark.benches.cluster.live.nodes import Node, Role, resolve_node
from slotmark.benches.cluster.live.request import LEAST_BYTES, LEAST_CPUS, Request
from slotmark.engine.hosts import ALL, Wanted, entries
from slotmark.errors import ArgumentError, BedError, TargetError, did_you_mean
from slotmark.measure.limits import Limits, limited
from slotmark.numbers import plain
from slotmark.options import memory_bytes
from slotmark.words import listed

FILE = "hosts.toml"
"""Its name in a bed."""

DEFAULT = "slotmark"
"""The node where nothing names one."""

SCHEMA = pa.schema(
    [
        ("host", pa.string()),
        ("name", pa.string()),
        ("role", pa.string()),
        ("node", pa.string()),
        ("backend", pa.string()),
        ("memory_bytes", pa.int64()),
        ("cpus", pa.float64()),
        ("processors", pa.string()),
        ("stays", pa.bool_()),
    ]
)
"""Table ``host_nodes``: docs/tables.md."""


class Placed(msgspec.Struct, frozen=True):
    """The node of one host.

    Attributes:
        name: What it is called in the session: a side of a mixed cluster, else the node's name.
        role: The host's.
        given: The node and its arguments as they were named.
        node: The node.
        settings: What changes in the host's configuration.
        backend: Which backend that chooses; empty for the node's own choice.
        limits: On its memory and its processors.
        processors: Those that it may run on; empty for all.
    """

    name: str
    role: Role
    given: str
    node: Node
    settings: Mapping[str, Any]
    backend: str
    limits: Limits
    processors: tuple[int, ...]

    @property
    def has_own_store(self) -> bool:
        """Returns whether it is our node with a set of unspent outputs of its own."""
        return self.node.name == DEFAULT and any(word.split("=")[0] == "--ledger" for word in self.node.recipe.command)


class Asked(msgspec.Struct, frozen=True):
    """The node that is asked for on a host, before its machine is looked at.

    Attributes:
        wanted: Its entry of the file, over that of all.
        given: The node of ``--node``, or of the host's side; empty where none is named.
        side: The side of a mixed cluster; empty in others.
        where: What errors name.
        role: The host's.
        genesis: What the bed's profile says of its genesis.
        past_epochs: Epochs that have ended when a run of the bed begins.
    """

    wanted: Wanted
    given: str
    side: str
    where: str
    role: Role
    genesis: Mapping[str, Any]
    past_epochs: int


def asked(request: Request, bed: Bed) -> dict[str, Asked]:
    """Returns what is asked for on each host of a bed.

    Raises:
        EngineError: The file of hosts can't be read, or isn't such a file.
        BedError: It names a host that isn't there, or both it and ``--node`` name nodes.
    """
    file = hosts_file(request)
    choices = _choices(file, bed) if file.is_file() or request.hosts else {}
    every = choices.get(ALL, Wanted()).over(Wanted(memory=request.memory, cpus=request.cpus))
    for role in request.of_role:
        hosts_as(role, bed, request.bed)
    found = {}
    for host in bed.hosts:
        own = choices.get(host.name, Wanted()).over(every)
        side = request.sides.get(host.name, "")
        role = role_of(host)
        given = request.nodes[side] if side else request.of_role.get(role, request.node)
        if own.node and given:
            raise BedError(
                f"{file}: {host.name} has a node, and --node names one too. Leave --node out, or node in the file."
            )
        where = f"{file}: {host.name}" if file.is_file() else f"--memory, --cpus: {host.name}"
        found[host.name] = Asked(
            own,
            given,
            side,
            where,
            role,
            bed.profile.get("genesis", {}),
            bed.genesis.past_epochs,
        )
    return found


def hosts_file(request: Request) -> Path:
    """The file of hosts that a run goes by, where it is there."""
    return request.hosts or request.bed / FILE


def role_of(host: Host) -> Role:
    """The part of a host in its bed."""
    return "producer" if host.pool is not None else "edge" if host.edge else "relay"


_IS: dict[Role, str] = {"producer": "has a pool", "relay": "is a relay", "edge": "is an edge host"}

_WITH: dict[Role, str] = {
    "producer": "",
    "relay": "`cluster create … --set pools=1`",
    "edge": "`cluster create … --set pools=1 --set edge_hosts=1`",
}
"""Commands that make a bed with hosts of a role."""


def hosts_as(role: Role, bed: Bed, folder: Path) -> list[Host]:
    """The hosts of a role in a bed. BedError where it has none."""
    if found := [host for host in bed.hosts if role_of(host) == role]:
        return found
    raise BedError(
        f"{folder}: --node names a node for hosts of the role {role}, and none {_IS[role]}. Make a bed with some: {_WITH[role]}."
    )


def _choices(file: Path, bed: Bed) -> dict[str, Wanted]:
    known = [host.name for host in bed.hosts]
    choices = entries(file)
    for name in choices:
        if name not in (ALL, *known):
            raise BedError(
                f"{file}: the bed has no host '{name}'.{did_you_mean(name, known)} Name its hosts, or {ALL}."
            )
    return choices


def place(hosts: Mapping[str, Asked]) -> dict[str, Placed]:
    """Returns the node of each host that is on this machine.

    Raises:
        TargetError: There is no such node, it has no such backend, or this machine hasn't the processors.
        ArgumentError: The memory isn't a size, or out of bounds.
        PlatformError: Nothing can be limited on this machine.
    """
    placed = {name: _placed(name, one) for name, one in hosts.items()}
    tried: dict[Limits, str] = {}
    for name, one in placed.items():
        tried.setdefault(one.limits, hosts[name].where)
    for limits, where in tried.items():
        limited(limits, where)
    return placed


def _placed(host: str, asked: Asked) -> Placed:
    choice, where = asked.wanted, asked.where
    words = " ".join([choice.node or asked.given or DEFAULT, *map(shlex.quote, choice.arguments)])
    node = resolve_node(words)
    named = where if choice.node else f"--node {node.name}"
    if asked.role not in node.recipe.roles:
        raise _other_role(named, host, asked.role, node)
    if others := _missing(node, asked):
        settings = listed([f"{name} = {value}" for name, value in others.items()])
        raise TargetError(
            f"{named}: {node.name} needs a bed with {settings} (its node.toml). Make one: slotmark cluster create … "
            + " ".join(f"--set {name}={value}" for name, value in others.items())
        )
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
        name=asked.side or node.name,
        role=asked.role,
        given=words,
        node=node,
        settings=node.recipe.backends.get(choice.backend, {}),
        backend=choice.backend,
        limits=_limits(choice, where),
        processors=tuple(sorted(set(choice.processors))),
    )


def _other_role(named: str, host: str, role: Role, node: Node) -> TargetError:
    """The error of a node that a host isn't for."""
    can = listed(node.recipe.roles, "or")
    what = f"{named}: {host} {_IS[role]}, and {node.name} can only be {can} (roles in its node.toml)."
    if role != "producer":
        return TargetError(f"{what} Name another node for that, as --node NODE={role} does.")
    fitting: Role = next(role for role in node.recipe.roles if role != "producer")
    return TargetError(
        f"{what} Give it to those, as --node {node.name}={fitting} does beside the node of the others, in a bed that has some: {_WITH[fitting]}."
    )


def _missing(node: Node, asked: Asked) -> dict[str, str | int | float]:
    """Returns the settings of a profile by which a node could run in a bed of it; none where it can run in this one."""
    found: dict[str, str | int | float] = {
        f"genesis.{name}": value for name, value in node.recipe.genesis.items() if asked.genesis.get(name) != value
    }
    if asked.past_epochs < node.recipe.past_epochs:
        found["live.past_epochs"] = node.recipe.past_epochs
    return found


def _limits(choice: Wanted, where: str) -> Limits:
    """The limits of a host. ArgumentError where one isn't a size, or out of bounds."""
    memory = memory_bytes(f"{where}: memory", choice.memory, LEAST_BYTES, memory_left().total_bytes)
    if 0 < choice.cpus < LEAST_CPUS:
        raise ArgumentError(f"{where}: cpus {choice.cpus}: expected {LEAST_CPUS} at least.")
    return Limits(memory_bytes=memory, cpus=choice.cpus or None)


def limits_of(placed: Mapping[str, Placed]) -> dict[str, object]:
    """Entries of a manifest's parameters: the limits of hosts, each once."""
    every = [one.limits for one in placed.values()]
    sizes = ["none" if one.memory_bytes is None else f"{one.memory_bytes:,} bytes" for one in every]
    cpus = ["none" if one.cpus is None else plain(one.cpus) for one in every]
    return {"memory limit": listed(sorted(set(sizes))), "processors limit": listed(sorted(set(cpus)))}


def host_nodes(placed: Mapping[str, Placed], staying: Collection[str]) -> pa.Table:
    """A row per host: what it ran, and whether it ran that in all rounds of a mixed session. Of :data:`SCHEMA`."""
    return pa.Table.from_pylist(
        [
            {
                "host": host,
                "name": one.name,
                "role": one.role,
                "node": one.given,
                "backend": one.backend or None,
                "memory_bytes": one.limits.memory_bytes,
                "cpus": one.limits.cpus,
                "processors": ",".join(map(str, one.processors)) or None,
                "stays": host in staying,
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
