"""The part of a live cluster that one machine has: some of its hosts, from the start of their nodes to what is kept of them.

What decides, and what concerns all hosts, is in :mod:`slotmark.benches.cluster.live.cluster`; here is what has to be done where nodes run.
"""

import time
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import msgspec
import pyarrow as pa

from slotmark.benches.cluster.bed import Host, read_bed
from slotmark.benches.cluster.live.answering import TipQuery
from slotmark.benches.cluster.live.launching import (
    Preparation,
    Running,
    Wan,
    WanStatistics,
    kill_nodes,
    network,
    stop_nodes,
)
from slotmark.benches.cluster.live.memory import Memory, memory_holders
from slotmark.benches.cluster.live.nodes import Node
from slotmark.benches.cluster.live.placing import Placed
from slotmark.benches.cluster.live.ports import own_ports
from slotmark.benches.cluster.live.probing import Answer, Probe
from slotmark.benches.cluster.live.rundir import (
    MACHINE_USAGE,
    PAST,
    PREPARED,
    SOCKET,
    USAGE,
    WAKES,
    begin_database,
    configure,
    host_places,
    remove_prepared,
)
from slotmark.benches.cluster.live.sampling import MACHINE_SCHEMA, USAGE_SCHEMA, Sampler, read_samples, rss_bytes
from slotmark.benches.cluster.live.waking import Waking, read_delays
from slotmark.benches.cluster.live.watching import LogEnd, Tip
from slotmark.benches.cluster.live.workload import Generator
from slotmark.errors import TargetError
from slotmark.measure.limits import limited
from slotmark.numbers import mebibytes
from slotmark.warnings import Warning
from slotmark.words import listed

_QUERIES_END_S = 5
"""Time that queries may take to end after their nodes: other processes may still hold the nodes' sockets."""

MEMORY_LOOK_S, MEMORY_LOOK_MOST_S = 0.1, 1.0
"""Least and longest interval at which the memory is checked: fifty nodes that read a large genesis take a gigabyte a second."""


class ShortMemoryError(Exception):
    """There is too little memory on a machine to go on: its nodes have to be ended at once."""


class Setup(msgspec.Struct, frozen=True, kw_only=True):
    """The hosts of a machine, and what they must know of the others.

    Attributes:
        hosts: Those of this machine.
        placed: The node of each of them.
        addresses: Where each host of the cluster listens.
        peers: Where those listen that each host follows, as ``10.0.0.1:3001``.
        magic: The network's.
        topology: Of an emulated network between the hosts of this machine; None where they have none.
    """

    hosts: tuple[Host, ...]
    placed: dict[str, Placed]
    addresses: dict[str, str]
    peers: dict[str, list[str]]
    magic: int
    topology: dict[str, Any] | None


class HostLook(msgspec.Struct, frozen=True):
    """A host, as a look found it.

    Attributes:
        tips: Those that are new in its log.
        ready: Whether it is.
        first_line: The first line of its log; None where there is none yet.
        understood: Whether a line is in a form that ingest reads.
        ended: How its node ended by itself, in words; empty where it runs.
        starts: How often it was started.
        at_limit: Its limit of memory, where the kernel ended it for that; else empty.
    """

    tips: list[Tip]
    ready: bool
    first_line: str | None
    understood: bool
    ended: str
    starts: int
    at_limit: str = ""


class Look(msgspec.Struct, frozen=True):
    """A machine's hosts, and what else runs there, at a moment.

    Attributes:
        hosts: By name.
        asked: Whether all hosts were asked for a handshake.
        load: The workload; None where none runs there.
        network_ended: How the emulated network ended by itself; empty where it runs, or there is none.
    """

    hosts: dict[str, HostLook]
    asked: bool = False
    load: "Load | None" = None
    network_ended: str = ""


class Load(msgspec.Struct, frozen=True):
    """The workload at a moment.

    Attributes:
        phases: Those that it has reached.
        words: The last that it printed to its standard error.
        acknowledged: Transactions that targets have acknowledged.
        ended: How it ended; empty while it runs.
    """

    phases: list[str]
    words: str
    acknowledged: int
    ended: str


class Loaded(msgspec.Struct, frozen=True):
    """The outcome of the workload.

    Attributes:
        broke: How it ended where it didn't write down what became of all transactions; else empty.
        transactions: How many there were to submit.
        tps: How many of them were due a second.
        tables: Tables of the run.
        outcome: Figures for the manifest.
        warnings: About its targets.
    """

    broke: str
    transactions: int
    tps: float
    tables: dict[str, pa.Table]
    outcome: dict[str, object]
    warnings: list[Warning]


class Sampled(msgspec.Struct, frozen=True):
    """Samples of a machine: tables of :data:`USAGE_SCHEMA`, :data:`MACHINE_SCHEMA`, and of delays of timers."""

    usage: pa.Table
    machine: pa.Table
    delays: pa.Table


class Part:
    """The hosts of a machine; a context manager, which ends all that it started.

    Args:
        folder: The run directory.
        memory: What nodes can still have.
        tick: Called about ten times a second in what takes long; may raise.
    """

    def __init__(self, folder: Path, memory: Callable[[], Memory], tick: Callable[[], None]) -> None:
        self.folder = folder
        self._memory, self._tick = memory, tick
        self._memory_lasts_until = 0.0
        self._stack = ExitStack()
        self._nodes: dict[str, Running] = {}
        self._logs: dict[str, LogEnd] = {}
        self._ready: set[str] = set()
        self._queries: dict[str, TipQuery] = {}
        self._prepared: dict[str, str] = {}
        self._preparation: Preparation | None = None
        self._probe: Probe | None = None
        self._generator: Generator | None = None
        self._remarks: list[str] = []

    def __enter__(self) -> Self:
        """Itself."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Kills all that runs."""
        self._stack.close()

    def begin(self, setup: Setup) -> None:
        """Begins to sample, with the emulated network if there is one.

        Raises:
            ServerError: The emulated network can't be made.
            TargetError: There is none, and hosts' ports are taken.
        """
        self._setup = setup
        self._wan: Wan | None = self._stack.enter_context(network(setup.topology, self.folder))
        if self._wan is None:
            self._stack.enter_context(
                own_ports({host.name: (setup.addresses[host.name], host.port) for host in setup.hosts})
            )
        self._stack.enter_context(Waking(self.folder / WAKES))
        self._sampler = self._stack.enter_context(
            Sampler(self.folder / USAGE, self.folder / MACHINE_USAGE, own_networks=self._wan is not None)
        )
        self._stack.callback(remove_prepared, self.folder, self._remarks.append)
        self._stack.callback(self.kill)

    def prepare(self, within_s: int) -> dict[str, str]:
        """Prepares what nodes share, once for all hosts of one recipe, where it has a command for that.

        Returns:
            By host, the version that its node's program states; none of those that state none.

        Raises:
            TargetError: It fails, with its last words, or takes too long; or a program that is asked for its version does not end.
            ShortMemoryError: There is too little memory.
        """
        firsts: dict[tuple[str, ...], str] = {}
        for host in self._setup.hosts:
            own = self._setup.placed[host.name]
            first = firsts.setdefault(
                tuple(own.node.recipe.prepare), f"{PREPARED}-{len(firsts)}" if firsts else PREPARED
            )
            new = first not in self._prepared.values()
            self._prepared[host.name] = first
            configure(self.folder / host.name, own.settings)
            if new and (command := own.node.preparation(self._places(host))):
                self._prepare(own.node, command, host, first.replace(PREPARED, "prepare"), within_s)
        return self._stated_versions()

    def _stated_versions(self) -> dict[str, str]:
        """By host, what its node's program states; each is asked once. TargetError where one does not end."""
        stated: dict[tuple[str, ...], str] = {}
        found: dict[str, str] = {}
        for host in self._setup.hosts:
            node = self._setup.placed[host.name].node
            command = tuple(node.recipe.version)
            if command not in stated:
                stated[command] = node.stated_version()
            if stated[command]:
                found[host.name] = stated[command]
        return found

    def _prepare(self, node: Node, command: list[str], host: Host, name: str, within_s: int) -> None:
        self._preparation = preparation = Preparation(command, self.folder / host.name, self.folder, name)
        end = time.monotonic() + within_s
        while preparation.ended is None:
            if time.monotonic() > end:
                raise TargetError(
                    f"--node {node.name}: its prepare command has not ended after {within_s:,} s. Give it more "
                    "time with --ready-within."
                )
            self._tick()
            time.sleep(MEMORY_LOOK_S)
            self.check_memory()
        if preparation.ended != 0:
            raise TargetError(f"--node {node.name}: its prepare command failed: {preparation.last_words()}")

    def _places(self, host: Host) -> Mapping[str, str]:
        setup = self._setup
        return host_places(host, setup.addresses[host.name], setup.magic, self._prepared.get(host.name, PREPARED))

    def start(self) -> None:
        """Starts all nodes.

        Raises:
            TargetError: One can't be started, or what its database begins with can't be copied.
            ShortMemoryError: There is too little memory.
        """
        for host in self._setup.hosts:
            self.check_memory()
            own = self._setup.placed[host.name]
            folder = self.folder / host.name
            group = self._stack.enter_context(limited(own.limits, f"{host.name}: --memory, --cpus")())
            places = self._places(host)
            sources = own.node.database(places, has_past=(self.folder / PAST).is_dir())
            begin_database(folder, folder / places["database"], sources)
            peers = self._setup.peers[host.name]
            node = Running(own.node, host, folder, places, self._wan, own.limits, group, own.processors, peers)
            self._nodes[host.name] = node
            self._logs[host.name] = LogEnd(node.log, own.node.recipe.tip, own.node.recipe.ready_text)

    def restart(self, host: str) -> None:
        """Starts a node again that has ended. TargetError where it can't be started."""
        self._nodes[host].start()

    def look(self) -> Look:
        """Reads all logs on to their ends, looks at all processes, and takes a sample."""
        hosts = {name: self._host_look(name, node) for name, node in self._nodes.items()}
        asked = self._probe is not None and self._probe.ended is not None
        load = self._load_look(self._generator) if self._generator else None
        # Looked at last: with it all others end.
        network_ended = self._wan.last_words() if self._wan and self._wan.ended is not None else ""
        self.sample()
        return Look(hosts, asked, load, network_ended)

    def _host_look(self, name: str, node: Running) -> HostLook:
        log, ended = self._logs[name], node.ended
        tips = log.look()
        if name not in self._ready and (
            log.ready if self._setup.placed[name].node.recipe.ready == "log" else self._is_answering(node)
        ):
            self._ready.add(name)
        last_words = "" if ended is None else node.last_words()
        at_limit = "" if ended is None else node.ended_at_limit
        return HostLook(tips, name in self._ready, log.first_line, log.understood, last_words, node.starts, at_limit)

    def _load_look(self, generator: Generator) -> Load:
        ended = generator.last_words() if generator.ended else ""
        return Load(list(generator.phases()), generator.words, generator.acknowledged, ended)

    def sample(self) -> None:
        """Takes a sample of nodes and of the machine."""
        running = ((name, node) for name, node in self._nodes.items() if node.ended is None)
        self._sampler.sample((name, node.pid, node.cache_bytes) for name, node in running)

    def _is_answering(self, node: Running) -> bool:
        """Returns whether a node has answered a query of its tip; starts the query where there is none."""
        query = self._queries.get(node.host.name)
        if query is None or query.failed:
            # By the process's own folder: a socket's path may have only 107 bytes, and the run directory's can be longer.
            query = TipQuery(f"/proc/{node.pid}/cwd/{SOCKET}", self._setup.magic)
            self._queries[node.host.name] = query
        return query.answered

    def tip(self, host: str, first_slot: int) -> str | None:
        """The block that a node has by its socket; None where it hasn't answered, or has none from this slot on: then it is asked again."""
        self._is_answering(self._nodes[host])
        tip = self._queries[host].tip
        if tip is not None and (tip == "origin" or int(tip.partition(".")[0]) < first_slot):
            del self._queries[host]
            return None
        return tip

    def ask(self, places: Mapping[str, str], within_s: float) -> None:
        """Begins to ask hosts for a handshake, as other nodes do: by name, ``ADDRESS:PORT`` of each."""
        self._probe = Probe(places, self._setup.magic, within_s, self._wan, self.folder)

    def answers(self) -> list[Answer]:
        """The answers of hosts. ServerError where they couldn't be asked."""
        assert self._probe
        return self._probe.answers()

    def load(self, seconds: float, within_s: int, seed: int) -> None:
        """Starts the workload, at the first host of this machine, of the bed that the run directory has.

        Args:
            seconds: How long transactions are submitted.
            within_s: Time that their inputs may take to be in blocks.
            seed: Decides payloads and who is paid.

        Raises:
            TargetError: The program isn't built.
            BedError: The profile has no workload that can be submitted.
        """
        near = self.folder / self._setup.hosts[0].name, SOCKET
        self._generator = Generator(
            read_bed(self.folder), self.folder, seconds, within_s, seed, self._wan, near, self._setup.addresses
        )

    def end_load(self) -> None:
        """Ends the workload, which reads the chain once more."""
        if self._generator:
            self._generator.stop()

    def loaded(self) -> Loaded | None:
        """Returns the outcome of the workload, which has ended; None where there was none. RunError where its records can't be read."""
        if (generator := self._generator) is None:
            return None
        broke = "" if generator.is_whole else generator.last_words()
        return Loaded(
            broke,
            generator.transactions,
            generator.workload.tps,
            generator.tables(),
            generator.outcome(),
            generator.warnings(),
        )

    def stop(self, grace_s: float) -> list[str]:
        """Ends all nodes, those that don't end in time by force; gives their hosts."""
        killed = stop_nodes(list(self._nodes.values()), grace_s, lambda _left: self._tick())
        return [node.host.name for node in killed]

    def kill(self) -> None:
        """Ends all nodes and the workload at once, and with them what they were asked."""
        if self._preparation:
            self._preparation.kill()
        if self._probe:
            self._probe.kill()
        if self._generator:
            self._generator.kill()
        kill_nodes([node for node in self._nodes.values() if node.ended is None])
        end = time.monotonic() + _QUERIES_END_S
        for query in self._queries.values():
            query.wait(max(0.0, end - time.monotonic()))

    def end_network(self) -> WanStatistics | None:
        """Ends the emulated network; gives what it did, None where there was none or it had ended before."""
        return self._wan.stop() if self._wan else None

    def close(self) -> list[str]:
        """Ends what is left. Returns what people must know of that."""
        self._stack.close()
        return self._remarks

    def sampled(self) -> Sampled:
        """Returns the samples until now."""
        return Sampled(
            read_samples(self.folder / USAGE, USAGE_SCHEMA),
            read_samples(self.folder / MACHINE_USAGE, MACHINE_SCHEMA),
            read_delays(self.folder / WAKES),
        )

    @property
    def memory_lasts_s(self) -> float:
        """The time in which memory need not be checked: a look at it takes half a millisecond, which is much of what slotmark takes of a machine."""
        return self._memory_lasts_until - time.monotonic()

    def check_memory(self) -> None:
        """Raises ShortMemoryError where there is too little memory left."""
        if self.memory_lasts_s > 0:
            return
        memory = self._memory()
        self._memory_lasts_until = time.monotonic() + min(memory.lasts_s, MEMORY_LOOK_MOST_S)
        if not memory.is_short:
            return
        available, total, floor = (
            mebibytes(amount) for amount in (memory.available_bytes, memory.total_bytes, memory.floor_bytes)
        )
        running = [node for node in self._nodes.values() if node.ended is None]
        of_nodes = sum(rss_bytes(node.pid) for node in running)
        use = "no node was running"
        if running:
            use = f"{len(running):,} nodes used {mebibytes(of_nodes / len(running))} each on average"
        if 2 * of_nodes >= memory.total_bytes - memory.available_bytes:
            remedy = (
                "Use fewer --hosts, or make a bed with a smaller genesis: slotmark cluster create … --set utxo_entries=10000 "
                "--set delegators=1000"
            )
        else:
            holders = memory_holders(memory, [node.pid for node in running])
            held = listed([f"{holder.name}: {mebibytes(holder.held_bytes)}" for holder in holders])
            remedy = f"Others hold the most: {held}. End what isn't needed, or use a machine with more memory"
        raise ShortMemoryError(
            f"memory ran short: {available} of {total} were available, less than {floor}, and {use}. {remedy}"
        )
