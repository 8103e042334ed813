"""The nodes of a Ray cluster, and what keeps one from being used."""

import importlib.metadata
import importlib.util
import os
from collections.abc import Mapping

import msgspec

from slotmark.errors import EngineError
from slotmark.words import counted

LEAST_RAY = (2, 52)
"""The first version whose clusters ask for a token."""

INSTALL = "pip install 'slotmark[ray]'"


class Node(msgspec.Struct, frozen=True, kw_only=True):
    """A node of a Ray cluster, or the machine that this command runs on.

    Attributes:
        id: Of Ray's; empty for this machine.
        address: As Ray knows it; empty for this machine.
        host: The name that the machine has for itself.
        labels: As it was started with.
        cores: That Ray gives to tasks.
        ray: The version.
        python: The version.
        slotmark: The version.
        commit: The commit of slotmark; empty where it isn't known.
        secured: Whether it asks for a token.
        fault: Why it didn't answer; empty where it did.
    """

    id: str = ""
    address: str = ""
    host: str = ""
    labels: Mapping[str, str] = {}
    cores: float = 0
    ray: str = ""
    python: str = ""
    slotmark: str = ""
    commit: str = ""
    secured: bool = False
    fault: str = ""

    @property
    def name(self) -> str:
        """Its name for people."""
        return f"{self.host} ({self.address})" if self.host and self.address else self.host or self.address

    def own_labels(self) -> list[tuple[str, str]]:
        """The labels that people gave it."""
        return sorted((key, value) for key, value in self.labels.items() if not key.startswith("ray.io/"))

    def faults(self, here: "Node") -> list[str]:
        """Differences from this machine, by which its pieces might have other outputs; empty where there are none."""
        if self.fault:
            return [self.fault]
        minor = [one.python.rpartition(".")[0] for one in (self, here)]
        pairs = (
            ("Ray", self.ray, here.ray, self.ray == here.ray),
            ("Python", self.python, here.python, minor[0] == minor[1]),
            ("slotmark", *(f"{one.slotmark} {one.commit}".rstrip() for one in (self, here)), self._same_slotmark(here)),
        )
        return [f"{what} {its or 'none'}, here {ours}" for what, its, ours, same in pairs if not same]

    def _same_slotmark(self, here: "Node") -> bool:
        return (self.slotmark, self.commit) == (here.slotmark, here.commit)


class Cluster(msgspec.Struct, frozen=True, kw_only=True):
    """A Ray cluster, as it was found before work begins.

    Attributes:
        address: Of its head.
        here: This machine.
        nodes: Its nodes, by address.
    """

    address: str
    here: Node
    nodes: list[Node]

    def node_of(self, host: str) -> Node:
        """The one node that a host is: by the label ``host``, else by its own name or address. EngineError where there is none, or several."""
        found = [node for node in self.nodes if node.labels.get("host") == host] or [
            node for node in self.nodes if host in (node.host, node.address)
        ]
        if len(found) != 1:
            known = sorted({node.labels.get("host") or node.name for node in self.nodes})
            raise EngineError(
                f"{host}: {counted(len(found), 'node')} of the Ray cluster {'is' if len(found) == 1 else 'are'} that host, 1 expected. "
                f"Nodes are {', '.join(known)}; a node is named by `ray start --labels host={host}`."
            )
        return found[0]


def refuse_without_ray() -> None:
    """Raises EngineError where Ray isn't installed, is too old, or no address of a cluster can be meant."""
    if importlib.util.find_spec("ray") is None:
        raise EngineError(f"--engine ray: Ray is not installed here. Install it: {INSTALL}.")
    version = importlib.metadata.version("ray")
    if tuple(int(part) for part in version.split(".")[:2]) < LEAST_RAY:
        least = ".".join(map(str, LEAST_RAY))
        raise EngineError(
            f"--engine ray: Ray {version} has no authentication by token; at least {least} is needed. Install it: {INSTALL}."
        )
    if "://" in os.environ.get("RAY_ADDRESS", ""):
        raise EngineError(
            "RAY_ADDRESS: expected HOST:PORT of the cluster's head. Run this command on a node of the cluster; Ray's client isn't used."
        )


def refuse(cluster: Cluster, *, insecure: bool, labels: Mapping[str, str]) -> None:
    """Raises EngineError where a cluster can't be used.

    Args:
        cluster: The cluster.
        insecure: Whether to go on where it doesn't ask for a token.
        labels: Those that a node must have that does pieces.
    """
    silent = [node for node in cluster.nodes if node.fault]
    if silent:
        raise EngineError(
            f"{silent[0].name}: this node of the Ray cluster doesn't answer ({silent[0].fault.removesuffix('.')}). It may have been lost a moment ago: Ray counts a "
            "node for some 20 s after its end. Wait and run the same command again, or end it there with `ray stop`."
        )
    wrong = [(node.name, fault) for node in cluster.nodes for fault in node.faults(cluster.here)]
    if wrong:
        name, fault = wrong[0]
        others = f" (and {counted(len(wrong) - 1, 'other difference')})" if len(wrong) > 1 else ""
        raise EngineError(
            f"{name}: {fault}{others}. Install the same on all nodes and start them again: outputs must not depend on the node."
        )
    open_to_all = [node.name for node in cluster.nodes if not node.secured]
    if open_to_all and not insecure:
        raise EngineError(
            f"{cluster.address}: {open_to_all[0]} of this Ray cluster asks for no token, so whoever reaches it can run any program there. "
            "Make one with `ray get-auth-token --generate`, copy ~/.ray/auth_token to every node, and start all of them, and this "
            "command, with RAY_AUTH_MODE=token; or go on with --insecure-ray, which the report notes."
        )
    if not any(labels.items() <= node.labels.items() for node in cluster.nodes):
        known = sorted({f"{key}={value}" for node in cluster.nodes for key, value in node.own_labels()})
        asked = ", ".join(f"{key}={value}" for key, value in labels.items())
        raise EngineError(
            f"--ray-label {asked}: no node of the cluster has that. Nodes have {', '.join(known) or 'no labels'}."
        )
