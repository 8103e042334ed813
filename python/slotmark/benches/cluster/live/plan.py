"""Settings of a live run, and the network that its hosts meet."""

import ipaddress
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import msgspec

from slotmark.benches.cluster.sweep import amount
from slotmark.errors import BedError, SimulationError

if TYPE_CHECKING:
    from slotmark.benches.cluster.bed import Bed, Host

Network = Literal["wan", "loopback"]
"""The network between hosts: emulated, or the loopback device without delays."""

OnDeath = Literal["stop", "restart", "go-on"]
"""The end or the continuation of a run in which a node ends by itself."""


class Turn(msgspec.Struct, frozen=True):
    """A live run's place in a session: the session's name, the round from 1 on, and the name of its node."""

    session: str
    round: int
    name: str


class Request(msgspec.Struct, frozen=True, kw_only=True):
    """A live run that is asked for.

    Attributes:
        bed: The bed's folder.
        node: As of ``resolve_node``; empty for what the bed's hosts.toml names, or our own.
        seconds: How long to measure, from when all hosts agree on a block.
        out: The new run folder.
        network: How hosts reach each other.
        on_death: What becomes of the run when a node ends by itself.
        start_within_s: Between the start of the nodes and slot 0; 0 for the time that this number of nodes is given.
        ready_within_s: Time that nodes may take until they answer, and then until they agree on a block; before that, the time for their preparation.
        grace_s: Time that nodes may take to end before they are killed.
        seed: Seed of jitter and losses of the network, and of transactions.
        workload: Whether the profile's transactions are submitted.
        turn: Which run of a session it is; None where it stands alone.
        nodes: Nodes of a mixed cluster: name to node, in place of ``node``.
        sides: Sides of a mixed cluster: host to the name of its node.
    """

    bed: Path
    node: str
    seconds: float
    out: Path
    network: Network = "wan"
    on_death: OnDeath = "stop"
    start_within_s: int = 0
    ready_within_s: int = 300
    grace_s: int = 30
    seed: int = 1
    workload: bool = True
    turn: Turn | None = None
    nodes: Mapping[str, str] = {}
    sides: Mapping[str, str] = {}

    @property
    def logs(self) -> Path:
        """The run directory: logs, genesis and stores of the nodes, beside the run folder."""
        return self.out.with_name(self.out.name + ".logs")


GENERATOR = "generator"
"""The host of the emulated network that submits transactions, and asks nodes whether they listen."""


def generator_address(bed: "Bed") -> str:
    """An address for it: the first behind those of all hosts."""
    return str(max(ipaddress.IPv4Address(host.host_addr) for host in bed.hosts) + 1)


def targets(bed: "Bed") -> list["Host"]:
    """Whom transactions are submitted to: all hosts with a pool."""
    return [host for host in bed.hosts if host.pool is not None]


def wan_plan(bed: "Bed", seed: int) -> dict[str, Any]:
    """The plan of ``slotmark-wan`` for a bed: its links both ways, with the profile's jitter, loss and bandwidth.

    The profile's jitter is a mean; packets are held up to twice as long. A pair without a link carries nothing. What submits transactions
    is a host of its own, beside each of the others: without latency.

    Raises:
        BedError: The profile has no such network.
    """
    try:
        network = bed.profile["network"]
        every = {
            "jitter_us": 2 * round(amount(network["jitter"])) // 1000,
            "loss_ppm": round(network["loss"] * 1e6),
            "bandwidth_bits_per_s": round(amount(network["bandwidth"])),
        }
    except (KeyError, TypeError, SimulationError) as error:
        raise BedError(f"bed.json: its profile has no network ({error!r}). Make the bed anew.") from error
    links: dict[tuple[int, int], int] = {}
    for link in bed.links:
        links.setdefault((link.follower, link.producer), link.latency_ns)
        links[link.producer, link.follower] = link.latency_ns  # a follower's blocks come at its own link's latency
    names = [host.name for host in bed.hosts]
    return {
        "seed": seed,
        "hosts": [
            *({"name": host.name, "address": host.host_addr} for host in bed.hosts),
            {"name": GENERATOR, "address": generator_address(bed)},
        ],
        "default": {"delay_us": 0, "loss_ppm": 1_000_000},  # all packets: the profile has no latency for these pairs
        "links": [
            {"from": names[a], "to": names[b], "link": {"delay_us": latency_ns // 1000, **every}}
            for (a, b), latency_ns in sorted(links.items())
        ]
        + [
            {"from": a, "to": b, "link": {"delay_us": 0}}
            for host in bed.hosts
            for a, b in ((GENERATOR, host.name), (host.name, GENERATOR))
        ],
    }
