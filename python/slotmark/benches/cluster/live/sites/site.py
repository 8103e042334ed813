"""The machines that a live cluster runs on: what is the same for this machine and for others, and this machine."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Protocol

import msgspec
import pyarrow as pa

from slotmark.benches.cluster.bed import Bed
from slotmark.benches.cluster.ingesting.finishing import MeasuredHere
from slotmark.benches.cluster.ingesting.ingest import ingest
from slotmark.benches.cluster.ingesting.ingested import Ingested
from slotmark.benches.cluster.live.launching import end_leftovers
from slotmark.benches.cluster.live.memory import Memory
from slotmark.benches.cluster.live.network import peers, wan_topology
from slotmark.benches.cluster.live.placing import Asked, Placed, place
from slotmark.benches.cluster.live.request import Request
from slotmark.benches.cluster.live.rundir import LOOPBACK
from slotmark.benches.cluster.live.sites.machine_clocks import Bounds
from slotmark.benches.cluster.live.sites.machines import Here, Machines
from slotmark.benches.cluster.live.sites.part import Part, Setup
from slotmark.benches.cluster.requests import IngestRequest
from slotmark.measure.process import nothing_left
from slotmark.run import MachineFacts, Run, machine_facts, machine_warnings
from slotmark.warnings import Warning


class Site(Protocol):
    """The machines that a cluster runs on.

    Attributes:
        machines: The machines.
        folders: The run directory of each.
        placed: The node of each host.
        addresses: Where each host listens.
        network: What the manifest has of the network.
        emulated: Whether hosts have networks of their own, with the addresses that the bed has.
        before_s: Time between the beginning of the parts and the start of nodes.
        facts: Facts about the machine of each host, from before the run.
    """

    machines: Machines
    folders: dict[str, Path]
    placed: dict[str, Placed]
    addresses: dict[str, str]
    network: str
    emulated: bool
    before_s: float
    facts: dict[str, MachineFacts]

    def place(self, asked: Mapping[str, Asked]) -> dict[str, Placed]:
        """The node of each host, as it is on the host's machine.

        Raises:
            TargetError: There is no such node, or the machine hasn't the processors.
            ArgumentError: The memory isn't a size, or out of bounds.
        """
        ...

    @property
    def output(self) -> list[str]:
        """The places of nodes' output, in words."""
        ...

    def begun(self, folder: Path) -> AbstractContextManager[None]:
        """Has all machines begin with their parts, of the run directory that was made here, and ends what is left of them at the end."""
        ...

    def removed(self) -> None:
        """Removes the run directories of other machines, of which nothing is to be kept."""
        ...

    def own(self) -> "Own":
        """Returns the entries of a run about its machines."""
        ...

    def ingest(self, request: IngestRequest, here: MeasuredHere) -> tuple[Run, Ingested]:
        """Makes the run folder of the logs.

        Raises:
            LogError: There are no logs, or too many lines can't be read; nothing was written.
            RunError: The run folder can't be written.
        """
        ...


class Own(msgspec.Struct, frozen=True):
    """Entries of a run about its machines.

    Attributes:
        machine: Facts about the first host's.
        tables: Tables of the run, by name.
        observed: Entries of the manifest.
        warnings: What readers of figures must know.
        clocks: Bounds of how far the clock of a host's machine is ahead of one of them, where that was measured.
    """

    machine: MachineFacts
    tables: dict[str, pa.Table] = {}
    observed: dict[str, object] = {}
    warnings: list[Warning] = []
    clocks: dict[str, Bounds] = {}


class OneMachine:
    """This machine."""

    before_s = 0.0

    def __init__(
        self,
        request: Request,
        bed: Bed,
        asked: Mapping[str, Asked],
        memory: Callable[[], Memory],
        tick: Callable[[], None],
        on_remark: Callable[[str], None],
    ) -> None:
        self._bed, self._memory, self._tick, self._on_remark = bed, memory, tick, on_remark
        self.network: str = request.network
        self.facts = dict.fromkeys((host.name for host in bed.hosts), machine_facts())
        self.placed = self.place(asked)
        self._topology = wan_topology(bed, request.seed) if request.network == "wan" else None
        self.emulated = self._topology is not None
        self.addresses = {host.name: LOOPBACK if self._topology is None else host.host_addr for host in bed.hosts}
        if ended := end_leftovers():
            on_remark(f"{len(ended):,} processes were left by a live run that was killed; they were ended.")

    def place(self, asked: Mapping[str, Asked]) -> dict[str, Placed]:
        """As of :class:`Site`."""
        return place(asked)

    @contextmanager
    def begun(self, folder: Path) -> Iterator[None]:
        """As of :class:`Site`."""
        self.folders = {"": folder}
        # What nodes started ends with them: a script that starts a node may leave it running, beside the next run of a session.
        with nothing_left(), Part(folder, self._memory, self._tick) as part:
            self.machines = Machines({"": Here(part)}, dict.fromkeys(self.addresses, ""), self._tick)
            part.begin(
                Setup(
                    hosts=self._bed.hosts,
                    placed=self.placed,
                    addresses=self.addresses,
                    peers=peers(self._bed, self.addresses),
                    magic=self._bed.genesis.network_magic,
                    topology=self._topology,
                )
            )
            try:
                yield
            finally:
                for remark in part.close():
                    self._on_remark(remark)

    def removed(self) -> None:
        """As of :class:`Site`."""

    @property
    def output(self) -> list[str]:
        """As of :class:`Site`."""
        return list(map(str, self.folders.values()))

    def own(self) -> Own:
        """As of :class:`Site`."""
        machine = self.facts[self._bed.hosts[0].name]
        return Own(machine, warnings=machine_warnings(machine))

    def ingest(self, request: IngestRequest, here: MeasuredHere) -> tuple[Run, Ingested]:
        """As of :class:`Site`."""
        return ingest(request, here=here)
