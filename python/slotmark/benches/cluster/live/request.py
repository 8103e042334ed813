"""Live runs and sessions of them as they are asked for: the options of the command line."""

import re
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Literal

import msgspec

from slotmark.benches.cluster.live.nodes import Role, resolve_node
from slotmark.errors import ArgumentError
from slotmark.numbers import plain
from slotmark.options import MOST_SEED, Option, duration_s, memory_bytes
from slotmark.places import Place, Url, place

Network = Literal["wan", "loopback"]
"""The network between hosts: emulated, or the loopback device without delays."""

OnLoss = Literal["stop", "go-on"]
"""The end or the continuation of a run in which a machine is lost."""

OnDeath = Literal["stop", "restart", "go-on"]
"""The end or the continuation of a run in which a node ends by itself."""


LEAST_BYTES = 16 << 20
"""No node starts with less memory."""

LEAST_CPUS, MOST_CPUS = 0.01, 10_000
"""Limits of processors that the kernel takes, and that make sense."""


_MOST_S = 365 * 86_400
"""The longest time that is waited or measured."""

_LONGEST_NAME = 200
"""Bytes of a node's name: with a round's number it is a folder's."""


class Turn(msgspec.Struct, frozen=True):
    """A live run's place in a session: the session's name, the round from 1 on, and the name of its node."""

    session: str
    round: int
    name: str


def _seconds(option: str, text: str) -> float:
    seconds = duration_s(option, text)
    if not 1 <= seconds <= _MOST_S:
        raise ArgumentError(f"{option} '{text}': expected 1s to {plain(_MOST_S / 3600)}h, a year.")
    return seconds


def _whole_seconds(option: str, text: str) -> int:
    return round(_seconds(option, text)) if text else 0


def _size(option: str, text: str) -> str:
    """A limit of memory as it was typed; ArgumentError where it isn't a size."""
    memory_bytes(option, text, LEAST_BYTES)
    return text


def _cpus(option: str, text: str) -> float:
    """A number of processors. ArgumentError where it isn't one."""
    try:
        number = float(text)
    except ValueError:
        number = 0.0
    if not LEAST_CPUS <= number <= MOST_CPUS:
        raise ArgumentError(f"{option} '{text}': expected a number of processors from {LEAST_CPUS} on, as 1.5.")
    return number


ROLES: tuple[Role, ...] = ("relay", "edge")
"""A node with one of these behind ``=`` runs on such hosts alone; behind an option it is that option's."""


class Named(msgspec.Struct, frozen=True):
    """A node that was named.

    Attributes:
        node: As of ``resolve_node``.
        role: Of the hosts that it runs on alone; None for the others.
    """

    node: str
    role: Role | None = None


def named_nodes(option: str, given: Sequence[str]) -> dict[str, Named]:
    """The nodes by name: what stands before ``=``, or what the node is called by itself. ArgumentError where two have one name."""
    found: dict[str, Named] = {}
    for text in given:
        role: Role | None = next(
            (role for role in ROLES if text.endswith(f"={role}") and not text.split()[-1].startswith("-")), None
        )
        named = text.removesuffix(f"={role}") if role else text
        name, equals, node = named.partition("=")
        if not equals or not re.fullmatch(r"[\w.-]*", name):
            name, node = resolve_node(named).name, named
        if not name or name.startswith(".") or len(name.encode()) > _LONGEST_NAME:
            raise ArgumentError(f"{option} '{text}': expected NAME='NODE', with a name that can be a folder's.")
        if name in found:
            raise ArgumentError(f"{option} '{text}': '{name}' is there twice. Name each as NAME='NODE'.")
        if role and any(one.role == role for one in found.values()):
            raise ArgumentError(f"{option} '{text}': two nodes with ={role}. Name one of them.")
        found[name] = Named(node, role)
    return found


class Request(msgspec.Struct, frozen=True, kw_only=True):
    """A live run that is asked for; the texts of its options are those of `slotmark cluster run --help`.

    Attributes:
        node: As of ``resolve_node``; empty for what the bed's hosts.toml names, or our own.
        start_within_s: Between the start of the nodes and slot 0; 0 for the time that this number of nodes is given.
        ready_within_s: Time that nodes may take until they answer, and then until they agree on a block; before that, the time for their preparation.
        name: The name of the run's nodes in reports; empty for the nodes' own names.
        of_role: The nodes of hosts with another node than the others, by their role.
        turn: Which run of a session it is; None where it stands alone.
        nodes: Nodes of a mixed cluster: name to node, in place of ``node``.
        sides: Sides of a mixed cluster: host to the name of its node.
        staying: Hosts of a mixed cluster that aren't swapped.
    """

    bed: Annotated[Path, Option("A folder that `cluster create` made.", "BED", argument=True)]
    seconds: Annotated[
        float,
        Option(
            "How long to measure, once all hosts agree on a block; 10m by default.", "TIME", ("--for",), parse=_seconds
        ),
    ] = 600.0
    out: Annotated[
        Place,
        Option(
            "The new run folder; logs are kept in RUN.logs beside it. With several rounds, the folder that all of them are made in. Or a run's URL in an "
            "object store; logs are then in RUN.logs here, and the run in RUN until the store has it.",
            "RUN",
            ("-o", "--out"),
            parse=lambda _flag, named: place(named),
        ),
    ]
    network: Annotated[
        Network,
        Option("Latencies of the bed, in a network emulated in user space; or none. Between machines none are added."),
    ] = "wan"
    on_death: Annotated[OnDeath, Option("What to do when a node ends by itself.")] = "stop"
    start_within_s: Annotated[
        int,
        Option(
            "Time from the start of the nodes to slot 0; the default depends on their number.",
            "TIME",
            ("--start-in",),
            parse=_whole_seconds,
        ),
    ] = 0
    ready_within_s: Annotated[
        int,
        Option(
            "Time limit for preparing, then for nodes to answer, and then for them to agree on a block.",
            "TIME",
            ("--ready-within",),
            parse=_whole_seconds,
            default="5m",
        ),
    ]
    grace_s: Annotated[
        int,
        Option(
            "Time for nodes to end before they are killed.",
            "TIME",
            ("--grace",),
            parse=_whole_seconds,
            default="30s",
        ),
    ]
    seed: Annotated[
        int,
        Option(
            "Seed of jitter and losses of the network, and of the amounts in transactions.", least=0, most=MOST_SEED
        ),
    ] = 1
    workload: Annotated[
        bool,
        Option("Whether to submit the transactions of the bed's profile.", flags=("--workload/--no-workload",)),
    ] = True
    memory: Annotated[
        str,
        Option("Memory limit of each host, page cache included, as 256MiB; by cgroup.", "SIZE", parse=_size, typed=str),
    ] = ""
    cpus: Annotated[
        float,
        Option(
            "Limit of each host on processors, as 1.5: time on all of them; by cgroup.", "N", parse=_cpus, typed=str
        ),
    ] = 0.0
    hosts: Annotated[
        Path | None,
        Option("The node and the machine of each host: docs/live.md. By default BED/hosts.toml, if it exists.", "FILE"),
    ] = None
    on_loss: Annotated[OnLoss, Option("What to do when a machine of --engine ray is lost during the measurement.")] = (
        "stop"
    )
    beside_s: Annotated[
        float,
        Option(
            "How long to measure what Ray and slotmark themselves use on the machines of --engine ray, before nodes are started; 1m by default.",
            "TIME",
            ("--beside",),
            parse=_seconds,
        ),
    ] = 60.0
    node: str = ""
    name: str = ""
    of_role: Mapping[Role, str] = {}
    turn: Turn | None = None
    nodes: Mapping[str, str] = {}
    sides: Mapping[str, str] = {}
    staying: Collection[str] = ()

    @property
    def logs(self) -> Path:
        """The run directory: logs, genesis and stores of the nodes, beside the run folder; of a run in a store, here."""
        return self.here.with_name(self.here.name + ".logs")

    @property
    def here(self) -> Path:
        """The run folder on this machine; of a run in a store, where it is until that has it."""
        return Path(self.out.name) if isinstance(self.out, Url) else self.out


USUAL_ROUNDS = 4
"""Rounds of several nodes where none are asked for."""


class Session(msgspec.Struct, frozen=True, kw_only=True):
    """A session that is asked for, or one run by itself; its other options are those of each run.

    Attributes:
        each: What every run is asked; its ``out`` is the folder that run folders are made in, its ``seed`` decides the order too.
        nodes: What takes turns, is mixed, or runs on relays or edge hosts alone, by name.
        rounds: How many; each node runs once in each. 0 for what is usual: one run by itself, or ``USUAL_ROUNDS`` of several nodes.
        mixed: Whether two nodes share the hosts of one run per round, and swap them in the next, in place of a run each.
        resume: Whether to go on with the session there that was cut.
    """

    each: Request
    nodes: Annotated[
        Mapping[str, Named],
        Option(
            "slotmark (the default), cardano-node, dingo, dugite, amaru, a folder with a node.toml, or a command like cardano-node; again for more that take turns or are mixed. With =relay or =edge: for such hosts alone.",
            "[NAME=]NODE[=ROLE]",
            ("--node",),
            parse=named_nodes,
            typed=list[str],
            after="out",
        ),
    ] = {}
    rounds: Annotated[
        int,
        Option(
            f"Run each --node once in each of this many rounds, in turns, each time from a fresh state; a run folder each. {USUAL_ROUNDS} for several --node.",
            least=2,
            after="nodes",
        ),
    ] = 0
    mixed: Annotated[
        bool,
        Option(
            "Let two --node share the hosts of one cluster in each of the --rounds, and swap them in the next.",
            after="rounds",
        ),
    ] = False
    resume: Annotated[
        bool,
        Option("Go on with the rounds in -o that were cut: those that are finished are kept.", after="mixed"),
    ] = False

    @property
    def asked_rounds(self) -> int:
        """Rounds, with what is usual for several nodes."""
        return self.rounds or (USUAL_ROUNDS if self.mixed or len(self.in_turns) > 1 else 0)

    @property
    def in_turns(self) -> dict[str, str]:
        """Name to node of those that take turns: all but those for hosts of a role."""
        return {name: one.node for name, one in self.nodes.items() if not one.role}

    @property
    def of_role(self) -> dict[Role, str]:
        """Role to node of those for hosts of a role."""
        return {one.role: one.node for one in self.nodes.values() if one.role}
