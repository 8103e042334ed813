"""Named hosts, each a node of a Ray cluster: a look at them, and processes on them."""

import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from slotmark.cleaning import one_line
from slotmark.engine.hosts import Host, Wanted, matching
from slotmark.engine.ray.connection import Driver, connected, lost_in_words
from slotmark.engine.ray.messages import WAIT_S, Lost, Message, Staff, Visit
from slotmark.engine.ray.nodes import Cluster, Node, refuse, refuse_without_ray
from slotmark.engine.station import Station, StationLostError
from slotmark.errors import EngineError
from slotmark.words import counted


def hosts_found(wanted: Mapping[str, Wanted], folder: Path) -> tuple[Cluster, list[Host]]:
    """Looks at the hosts of a file, each a node of the Ray cluster.

    Args:
        wanted: What each must have.
        folder: For what Ray prints.

    Returns:
        The cluster, and the hosts in the order of the file. A cluster without tokens is no fault of a host.

    Raises:
        EngineError: There is no cluster, or it was lost.
    """
    refuse_without_ray()
    with connected(folder, for_pieces=False) as (driver, cluster):
        places = {name: matching(one.labels, [node.labels for node in cluster.nodes]) for name, one in wanted.items()}
        visited = [name for name, found in places.items() if len(found) == 1 and not cluster.nodes[found[0]].fault]
        at = {name: places[name][0] for name in visited}
        shared = Counter(at.values()) if len(set(at.values())) > 1 else Counter[int]()
        driver.send(
            Visit(
                [
                    (cluster.nodes[place].id, wanted[name].programs, wanted[name].ports, shared[place] > 1)
                    for name, place in at.items()
                ]
            )
        )
        while (answer := driver.received()) is None:
            pass
        if isinstance(answer, Lost):
            raise EngineError(lost_in_words(cluster.address, answer.why, folder))
    of = dict(zip(visited, answer.found, strict=True))
    hosts = []
    for name, found in places.items():
        if len(found) != 1:
            labels = (
                ", ".join(f"{key}={value}" for key, value in wanted[name].labels.items()) or "no labels in the file"
            )
            hosts.append(Host(name=name, wrong=[f"{labels}: {counted(len(found), 'node')}, 1 expected"]))
            continue
        node = cluster.nodes[found[0]]
        clock, wrong = of.get(name, (None, []))
        hosts.append(Host(name=name, node=node.name, clock=clock, wrong=[*node.faults(cluster.here), *wrong]))
    return cluster, hosts


class _Station:
    """A process on a node: as of ``slotmark.engine.station.Station``."""

    def __init__(self, stations: "_Stations", place: int, node: Node, beside: list[int]) -> None:
        self._stations, self._place = stations, place
        self.node, self.address, self.beside = node.name, node.address, beside

    def send(self, message: Any) -> None:
        self._stations.driver.send(Message(self._place, message))

    def received(self, within_s: float) -> Any:
        return self._stations.received(self._place, within_s)


class _Stations:
    """Processes on nodes, whose answers come through the driver's one pipe."""

    def __init__(self, driver: "Driver") -> None:
        self.driver = driver
        self._answers: dict[int, Message] = {}
        self._lost: dict[int, str] = {}

    def received(self, place: int, within_s: float) -> Any:
        """The answer of a process; None where there is none yet. StationLostError where there will be none."""
        until = time.monotonic() + within_s
        while place not in self._answers and place not in self._lost:
            left_s = until - time.monotonic()
            found = self.driver.received(max(0.0, left_s))
            if isinstance(found, Lost):
                raise StationLostError(f"the Ray cluster was lost: {one_line(found.why)}")
            if isinstance(found, Message):
                if found.lost:
                    self._lost[found.place] = found.lost
                else:
                    self._answers[found.place] = found
            elif left_s <= 0:
                return None
        if place in self._answers:
            return self._answers.pop(place).content
        raise StationLostError(one_line(self._lost[place]))


@contextmanager
def stations(
    wanted: Mapping[str, Wanted],
    start: Callable[[], Any],
    folder: Path,
    *,
    insecure: bool,
    checked: Callable[[Cluster], None],
) -> Iterator[dict[str, Station]]:
    """Processes on the machines of hosts, one on each machine, which end with the block.

    Args:
        wanted: What each host must have; those with the labels of one node share its process.
        start: A function of a module, called on each node. What it returns has the process's end of a pipe, ``pipe``, and ``stop``.
        folder: For what Ray prints.
        insecure: Whether to go on where the cluster doesn't ask for a token.
        checked: Gets the cluster as it was found, before it is refused or a process is started.

    Yields:
        The station of each host.

    Raises:
        EngineError: There is no cluster, not one with the same slotmark on all nodes, or no node, or several, with a host's labels.
    """
    refuse_without_ray()
    with connected(folder, for_pieces=False) as (driver, cluster):
        checked(cluster)
        refuse(cluster, insecure=insecure, labels={})
        of_host = {}
        for host, one in wanted.items():
            found = matching(one.labels, [node.labels for node in cluster.nodes])
            if len(found) != 1:
                labels = ", ".join(f"{key}={value}" for key, value in one.labels.items())
                raise EngineError(
                    f"{host}: {labels}: {counted(len(found), 'node')} of the cluster {'has' if len(found) == 1 else 'have'} that, 1 expected. "
                    "`slotmark hosts check` shows what nodes have."
                )
            of_host[host] = found[0]
        nodes = sorted(set(of_host.values()))
        driver.send(Staff([cluster.nodes[place].id for place in nodes], start))
        all_of_them = _Stations(driver)
        begun_at: dict[int, _Station] = {}
        for number, place in enumerate(nodes):
            try:
                while (beside := all_of_them.received(number, WAIT_S)) is None:
                    pass
            except StationLostError as error:
                raise EngineError(f"{cluster.nodes[place].name}: no process could be started there: {error}") from error
            begun_at[place] = _Station(all_of_them, number, cluster.nodes[place], beside)
        yield {host: begun_at[place] for host, place in of_host.items()}
