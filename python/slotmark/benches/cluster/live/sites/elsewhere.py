"""A live cluster on other machines, which get their parts of the bed and give back what they made of it."""

import os
import shlex
import socket
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any

import msgspec
import pyarrow as pa

from slotmark.benches.cluster.bed import Bed, Host
from slotmark.benches.cluster.ingesting.finishing import MeasuredHere
from slotmark.benches.cluster.ingesting.ingest import Looked, ingest_with
from slotmark.benches.cluster.ingesting.ingested import Ingested
from slotmark.benches.cluster.ingesting.log_pieces import merged_accounts
from slotmark.benches.cluster.live.beside import Beside, beside_table, beside_warnings
from slotmark.benches.cluster.live.memory import Memory
from slotmark.benches.cluster.live.network import GENERATOR, peers, topology_of_machine, wan_topology
from slotmark.benches.cluster.live.placing import Asked, Placed, hosts_file
from slotmark.benches.cluster.live.request import Request
from slotmark.benches.cluster.live.rundir import LOOPBACK, PAST
from slotmark.benches.cluster.live.sites.machine_clocks import Bounds, Offset, bounds, clock_warnings, clocks_table
from slotmark.benches.cluster.live.sites.machines import Machines, There
from slotmark.benches.cluster.live.sites.part import Part, Setup
from slotmark.benches.cluster.live.sites.remote import CHUNK_BYTES, TABLES, Remote, supervised
from slotmark.benches.cluster.live.sites.site import OneMachine, Own
from slotmark.benches.cluster.requests import IngestRequest
from slotmark.engine.hosts import FOLDER, Wanted
from slotmark.engine.station import Station
from slotmark.errors import BedError, LogError, TargetError
from slotmark.metrics.catalogue import catalogue
from slotmark.numbers import duration
from slotmark.run import MachineFacts, Run, machine_warnings
from slotmark.warnings import Warning
from slotmark.words import listed

Reach = Callable[[Mapping[str, Wanted], Callable[[], Any]], AbstractContextManager[Mapping[str, Station]]]
"""Reaches the machines of hosts: starts a process on each by calling a function there, and gives each host the station of its machine."""

MACHINES_SCHEMA = pa.schema(
    [
        ("machine", pa.string()),
        ("hosts", pa.string()),
        ("is_lost", pa.bool_()),
        ("cpu", pa.string()),
        ("cores", pa.int64()),
        ("governor", pa.string()),
        ("memory_bytes", pa.int64()),
        ("kernel", pa.string()),
        ("system", pa.string()),
        ("virtualisation", pa.string()),
        ("load", pa.float64()),
        ("hostname_hash", pa.string()),
    ]
)
"""Table ``machines``: docs/tables.md."""

MACHINES = "machines"
"""The network of hosts on several machines: nothing is emulated."""

WITHIN = "wan within machines"
"""The network of hosts on several machines, of which those on one machine have the links of the bed between them."""

_ALL_OF_BED = ("bed.json", "meta.json", "genesis/genesis.*.json", f"{PAST}/**/*")
"""Files that every machine gets of the bed."""

_OF_LOAD = ("genesis/utxo-keys/**/*", "*.plutus", "datum.json", "redeemer.json", "profile.*")
"""Files that the machine with the workload gets besides."""


_SETTLE_S = 2.0
"""Time in which what was just started comes to rest."""


class Elsewhere:
    """Other machines, each with some of the hosts.

    Args:
        request: The live run.
        bed: Its bed.
        asked: What each host runs.
        stations: The station of each host's machine.
        tick: Called while machines are waited for.
        on_remark: Called with remarks for the user.

    Raises:
        BedError: The profile has no network that can be emulated.
        TargetError: There is no such node on a machine.
    """

    def __init__(
        self,
        request: Request,
        bed: Bed,
        asked: Mapping[str, Asked],
        stations: Mapping[str, Station],
        tick: Callable[[], None],
        on_remark: Callable[[str], None],
    ) -> None:
        self._request, self._bed, self._asked, self._on_remark = request, bed, asked, on_remark
        self._stations = {station.node: station for station in stations.values()}
        of_host = {host: station.node for host, station in stations.items()}
        self.machines = Machines({name: There(one) for name, one in self._stations.items()}, of_host, tick)
        self.folders: dict[str, Path] = {}
        self.beside: dict[str, Beside] = {}
        self.clocks: dict[str, list[Offset]] = {}
        self.before_s = _SETTLE_S + request.beside_s
        names = [host.name for host in bed.hosts]
        links = {frozenset((names[link.follower], names[link.producer])) for link in bed.links}
        self._near = sorted(" and ".join(sorted(link)) for link in links if len({of_host[name] for name in link}) == 1)
        self._links = len(links)
        self.network: str = request.network
        if len(self._stations) > 1:
            self.network = WITHIN if self._near and request.network == "wan" else MACHINES
        self.emulated = self.network in ("wan", WITHIN)
        self._topology = wan_topology(bed, request.seed) if self.emulated else None
        self.addresses = {host.name: self._address(host) for host in bed.hosts}
        self.placed = self.place(asked)
        self._facts = self.machines.each(Remote.facts)
        ended = sum(map(len, self.machines.each(Remote.end_leftovers).values()))
        if ended:
            on_remark(f"{ended:,} processes were left by a live run that was killed; they were ended.")
        self._refuse_lost()
        self.facts = {host.name: self._facts[self.machines.of(host.name)] for host in bed.hosts}

    def place(self, asked: Mapping[str, Asked]) -> dict[str, Placed]:
        """As of :class:`Site`. TargetError where a machine was lost, too."""
        found = self.machines.each_with(Remote.place, self._by_machine(self._anywhere(asked)))
        self._refuse_lost()
        return {host: one for placed in found.values() for host, one in placed.items()}

    def _address_of(self, name: str) -> str:
        """Returns the address at which others reach a machine."""
        return self._asked[self.machines.hosts(name)[0]].wanted.address or self._stations[name].address

    def _address(self, host: Host) -> str:
        if self.network == MACHINES:
            return self._asked[host.name].wanted.address or self._stations[self.machines.of(host.name)].address
        return host.host_addr if self.emulated else LOOPBACK

    def _topology_of(self, name: str) -> dict[str, Any] | None:
        """Returns the topology of a machine's router; None where it has none."""
        if self._topology is None or self.network != WITHIN:
            return self._topology
        machines = {host.name: self.machines.of(host.name) for host in self._bed.hosts}
        ports: dict[str, int] = {}
        for host in self._bed.hosts:
            ports.setdefault(machines[host.name], host.port)
        machines[GENERATOR] = machines[self._bed.hosts[0].name]
        places = {one: f"{socket.gethostbyname(self._address_of(one))}:{port}" for one, port in ports.items()}
        routers = {host: places[one] for host, one in machines.items()}
        return topology_of_machine(self._topology, {host for host, one in machines.items() if one == name}, routers)

    def _by_machine(self, of_hosts: Mapping[str, Any]) -> dict[str, tuple[Any]]:
        return {
            name: ({host: one for host, one in of_hosts.items() if self.machines.of(host) == name},)
            for name in self.machines.names
        }

    def _anywhere(self, asked: Mapping[str, Asked]) -> dict[str, Asked]:
        """Nodes named by paths from here are named by the same paths from the root."""

        def whole(text: str) -> str:
            words = shlex.split(text)
            if words and "/" in words[0] and not words[0].startswith("/"):
                words[0] = str(Path(words[0]).absolute())
            return shlex.join(words)

        return {
            host: msgspec.structs.replace(
                one, given=whole(one.given), wanted=msgspec.structs.replace(one.wanted, node=whole(one.wanted.node))
            )
            for host, one in asked.items()
        }

    def _measure_beside(self) -> None:
        """Measures what runs beside the nodes to watch them, as it will run, before they are started."""
        self._on_remark(f"measuring for {duration(self._request.beside_s)} what Ray and slotmark themselves use")
        self._rest(_SETTLE_S)
        self.machines.each_with(
            Remote.begin_beside, {name: (self._stations[name].beside,) for name in self.machines.names}
        )
        self._rest(self._request.beside_s)
        self.beside = self.machines.each(Remote.end_beside)
        self._refuse_lost()

    def _rest(self, seconds: float) -> None:
        """Looks at all machines once a second, as in the measurement."""
        end = time.monotonic() + seconds
        while (left_s := end - time.monotonic()) > 0:
            self.machines.looks()
            self.machines.rest(min(1.0, left_s))
            time.sleep(min(1.0, left_s))

    def _refuse_lost(self) -> None:
        for name, why in self.machines.lost.items():
            raise TargetError(
                f"{name} was lost: {why.removesuffix('.')}. It is needed for {listed(self.machines.hosts(name))}."
            )

    @contextmanager
    def begun(self, folder: Path) -> Iterator[None]:
        """As of :class:`Site`."""
        if self.network == MACHINES:
            _name_addresses(folder, self._bed, self.addresses)
        run = f"{folder.name.removesuffix('.logs')}-{time.strftime('%Y%m%dT%H%M%S', time.gmtime())}-{os.getpid()}"
        wanted = {
            name: self._asked[self.machines.hosts(name)[0]].wanted.folder or FOLDER for name in self.machines.names
        }
        named = {name: (f"{wanted[name]}/{run}-{number}",) for number, name in enumerate(self.machines.names)}
        made = self.machines.each_with(Remote.make, named)
        self.folders = {name: Path(path) for name, path in made.items()}
        for name in self.machines.names:
            self._send(name, folder)
        setups = {
            name: (
                Setup(
                    hosts=tuple(host for host in self._bed.hosts if self.machines.of(host.name) == name),
                    placed={host: one for host, one in self.placed.items() if self.machines.of(host) == name},
                    addresses=self.addresses,
                    peers=peers(self._bed, self.addresses),
                    magic=self._bed.genesis.network_magic,
                    topology=self._topology_of(name),
                ),
            )
            for name in self.machines.names
        }
        self.machines.each_with(Part.begin, setups)
        self._refuse_lost()
        try:
            self._look_at_clocks()
            self._measure_beside()
            yield
            self.clocks = {name: self.machines.call(name, Remote.clocks) or [] for name in self.machines.names[1:]}
        finally:
            for remarks in self.machines.each(Part.close).values():
                for remark in remarks:
                    self._on_remark(remark)

    def _look_at_clocks(self) -> None:
        """Has the first machine answer with its time, and the others compare their clocks with it."""
        self._reference, *others = self.machines.names
        address = self._address_of(self._reference)
        if others and (port := self.machines.call(self._reference, Remote.answer_clock, address)) is not None:
            self.machines.each_with(Remote.look_at_clock, dict.fromkeys(others, (address, port)))

    def _send(self, name: str, folder: Path) -> None:
        """Sends a machine its part of the bed: what all hosts share, and the keys and configurations of its own."""
        hosts = [host for host in self._bed.hosts if self.machines.of(host.name) == name]
        patterns = [*_ALL_OF_BED, *(f"{host.name}/*" for host in hosts)]
        patterns += [f"genesis/pools-keys/pool{host.pool}/*" for host in hosts if host.pool is not None]
        if self._request.workload and self._bed.hosts[0] in hosts:
            patterns += _OF_LOAD
        for path in sorted({path for pattern in patterns for path in folder.glob(pattern) if path.is_file()}):
            mode, file_name = path.stat().st_mode & 0o777, str(path.relative_to(folder))
            with path.open("rb") as file:
                content = file.read(CHUNK_BYTES)
                while True:
                    self.machines.call(name, Remote.write, file_name, content, mode)
                    if not (content := file.read(CHUNK_BYTES)):
                        break

    def removed(self) -> None:
        """As of :class:`Site`."""
        self.machines.each(Remote.remove)

    @property
    def output(self) -> list[str]:
        """As of :class:`Site`."""
        return [f"{path} on {name}" for name, path in self.folders.items()]

    def own(self) -> Own:
        """As of :class:`Site`. TargetError where no machine is left."""
        if not self.machines.names:
            name, why = next(iter(self.machines.lost.items()))
            raise TargetError(
                f"all machines were lost, as {name}: {why.removesuffix('.')}. Nothing of the run can be read."
            )
        unlike: list[Warning] = []
        if self.network == MACHINES and self._near:
            near = len(self._near)
            unlike = [catalogue("cluster").warning("no_latencies_within", near=near, of=self._links, links=self._near)]
        beside, several = list(self.beside.values()), len(self._stations) > 1
        of_clocks = clock_warnings(self.clocks, self._reference) if several else []
        clocks = {name: bounds(found) for name, found in self.clocks.items()} | {self._reference: Bounds(0, 0)}
        return Own(
            machine=self.facts[self._bed.hosts[0].name],
            tables={
                "machines": _machines_table(self.machines, self._facts),
                "beside": beside_table(self.beside),
                **({"machine_clocks": clocks_table(self.clocks)} if several else {}),
            },
            observed={
                "beside the nodes, measured for, s": round(min(one.measured_ns for one in beside) / 1e9, 1),
                "beside the nodes, share of a core": round(max(one.cores for one in beside), 4),
                "beside the nodes, MiB": round(max(one.memory_bytes for one in beside) / (1 << 20)),
                "beside the nodes, packets per second": round(max(one.packets_per_s for one in beside), 1),
            },
            warnings=[
                *(one for name, facts in self._facts.items() for one in _named(machine_warnings(facts), name)),
                *(one for name, of in self.beside.items() for one in beside_warnings(name, of)),
                *of_clocks,
                *unlike,
            ],
            clocks={host.name: known for host in self._bed.hosts if (known := clocks.get(self.machines.of(host.name)))},
        )

    def ingest(self, request: IngestRequest, here: MeasuredHere) -> tuple[Run, Ingested]:
        """Has each machine read its logs, and makes the run folder of their parts of tables: the same as if all logs lay here.

        Raises:
            LogError: A machine has no log, or too many lines can't be read; nothing was written.
            RunError: The run folder can't be written.
        """
        looks = self.machines.each_with(Remote.survey, {name: (name,) for name in self.machines.names})
        (folder,) = map(Path, request.logs)
        looked = Looked(
            name=folder.resolve().name,
            folder=folder,
            survey=sorted((found for one in looks.values() for found in one.survey), key=lambda found: found.place),
            unread=[found for one in looks.values() for found in one.unread],
            folders=sorted(child.name for child in folder.iterdir() if child.is_dir()),
        )
        files = [one.file for one in looked.survey]

        def reading(tables: Path) -> Ingested:
            read = self.machines.each_with(Remote.ingest, {name: (files, name) for name in looks})
            if missing := sorted(looks.keys() - read.keys()):
                raise LogError(f"{listed(missing)}: lost while its logs were read. They are in {listed(self.output)}.")
            for name, (_, parts) in read.items():
                for part, size in parts.items():
                    self._fetch(name, part, size, tables / part)
            self.machines.each(Remote.forget_tables)
            return merged_accounts(looked.survey, [accounts for accounts, _ in read.values()], tables)

        return ingest_with(request, looked, reading, here)

    def _fetch(self, name: str, part: str, size: int, file: Path) -> None:
        """Brings a part of a table here. LogError where its machine is lost."""
        file.parent.mkdir(exist_ok=True)
        with file.open("wb") as out:
            while out.tell() < size:
                content = self.machines.call(name, Remote.read, f"{TABLES}/{part}", out.tell())
                if not content:
                    raise LogError(f"{name}: {part} can't be read there. Its logs are in {self.folders[name]}.")
                out.write(content)


class Cleaned(msgspec.Struct, frozen=True):
    """Remains of live runs on a machine.

    Attributes:
        machine: Its name.
        ended: Number of processes that lost their conductor; they were ended.
        kept: Run directories that lie there.
    """

    machine: str
    ended: int
    kept: list[str]


def clean(hosts: Mapping[str, Wanted], reach: Reach) -> list[Cleaned]:
    """Ends what live runs have left on the machines of hosts, and finds their run directories. TargetError where a machine is lost meanwhile."""
    with reach(hosts, supervised) as stations:
        of_host = {host: station.node for host, station in stations.items()}
        machines = Machines({station.node: There(station) for station in stations.values()}, of_host, lambda: None)
        folders = {name: (hosts[machines.hosts(name)[0]].folder or FOLDER,) for name in machines.names}
        ended, kept = machines.each(Remote.end_leftovers), machines.each_with(Remote.run_directories, folders)
        for name, why in machines.lost.items():
            raise TargetError(f"{name} was lost: {why.removesuffix('.')}. Clean again when it is back.")
        return [Cleaned(name, len(ended[name]), kept[name]) for name in machines.names]


def _machines_table(machines: Machines, found: Mapping[str, MachineFacts]) -> pa.Table:
    """A row per machine: its address, its hosts, and the facts that its figures depend on."""
    rows = [
        {
            "machine": name,
            "hosts": ",".join(machines.hosts(name)),
            "is_lost": name in machines.lost,
            **msgspec.structs.asdict(facts),
        }
        for name, facts in found.items()
    ]
    return pa.Table.from_pylist(rows, MACHINES_SCHEMA)


def _named(found: Sequence[Warning], machine: str) -> list[Warning]:
    return [msgspec.structs.replace(one, subject=machine) for one in found]


def _name_addresses(folder: Path, bed: Bed, addresses: Mapping[str, str]) -> None:
    """Names the addresses of machines in the topologies of a run directory, whose hosts differ by their ports."""
    of_port = {host.port: addresses[host.name] for host in bed.hosts}
    for host in bed.hosts:
        file = folder / host.name / "topology.json"
        try:
            topology = msgspec.json.decode(file.read_bytes(), type=dict[str, Any])
            for root in topology["localRoots"]:
                for point in root["accessPoints"]:
                    point["address"] = of_port[point["port"]]
        except (OSError, msgspec.DecodeError, KeyError, TypeError) as error:
            raise BedError(f"{file}: not a topology ({error!r}). Make the bed again.") from error
        file.write_bytes(msgspec.json.format(msgspec.json.encode(topology), indent=2) + b"\n")


@contextmanager
def site_of(
    request: Request,
    bed: Bed,
    asked: Mapping[str, Asked],
    reach: Reach | None,
    memory: Callable[[], Memory],
    tick: Callable[[], None],
    on_remark: Callable[[str], None],
) -> Iterator[OneMachine | Elsewhere]:
    """Yields the machines that a cluster runs on: this machine, unless there is a way to reach others."""
    if reach is None:
        yield OneMachine(request, bed, asked, memory, tick, on_remark)
        return
    for one in asked.values():
        if not one.wanted.labels:
            raise BedError(
                f"{one.where}: no labels, so it isn't known which machine it is. Give each host labels in {hosts_file(request)}, or pass --hosts."
            )
    with reach({host: one.wanted for host, one in asked.items()}, supervised) as stations:
        yield Elsewhere(request, bed, asked, stations, tick, on_remark)
