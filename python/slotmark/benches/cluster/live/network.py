"""The network that the hosts of a live run meet."""

import ipaddress
from collections.abc import Collection, Mapping
from typing import TYPE_CHECKING, Any

from slotmark.benches.cluster.sweep import amount
from slotmark.errors import BedError, SimulationError

if TYPE_CHECKING:
    from slotmark.benches.cluster.bed import Bed, Host

GENERATOR = "generator"
"""The host of the emulated network that submits transactions, and asks nodes whether they listen."""


def generator_address(bed: "Bed") -> str:
    """An address for it: the first behind those of all hosts."""
    return str(max(ipaddress.IPv4Address(host.host_addr) for host in bed.hosts) + 1)


def targets(bed: "Bed") -> list["Host"]:
    """Whom transactions are submitted to: all hosts with a pool."""
    return [host for host in bed.hosts if host.pool is not None]


def peers(bed: "Bed", addresses: Mapping[str, str]) -> dict[str, list[str]]:
    """Returns where those listen that each host follows, as ``10.0.0.1:3001``, by the addresses of all hosts."""
    found: dict[str, list[str]] = {host.name: [] for host in bed.hosts}
    for link in bed.links:
        followed = bed.hosts[link.producer]
        found[bed.hosts[link.follower].name].append(f"{addresses[followed.name]}:{followed.port}")
    return found


def wan_topology(bed: "Bed", seed: int) -> dict[str, Any]:
    """The topology of ``slotmark-wan`` for a bed: its links both ways, with the profile's jitter, loss and bandwidth.

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
        raise BedError(f"bed.json: its profile has no network ({error!r}). Make the bed again.") from error
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


JOINED_MTU = 1_400
"""The largest packet of hosts whose machines have each other's packets: between machines it is inside another one, of 1,500 bytes."""


def topology_of_machine(
    topology: Mapping[str, Any], own: Collection[str], routers: Mapping[str, str]
) -> dict[str, Any]:
    """The part of a topology that a machine's router has: between its own hosts as it is; to others nothing is added to what the way there is.

    Args:
        topology: Of all hosts.
        own: The hosts of the machine.
        routers: The address of the router of each host's machine.
    """
    hosts = {host["name"]: host for host in topology["hosts"]}
    links = [
        link if link["to"] in own else {**link, "link": {"delay_us": 0}}
        for link in topology["links"]
        if link["from"] in own
    ]
    return {
        **topology,
        "mtu": JOINED_MTU,
        "at": next(routers[name] for name in hosts if name in own),
        "hosts": [host for name, host in hosts.items() if name in own],
        "elsewhere": [{**host, "at": routers[name]} for name, host in hosts.items() if name not in own],
        "links": links,
    }
