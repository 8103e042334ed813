"""The nodes of a live run, from their start to their end."""

import time
from collections.abc import Callable, Mapping
from pathlib import Path

import msgspec

from slotmark.benches.cluster.bed import Bed, Host
from slotmark.benches.cluster.live.answering import TipQuery
from slotmark.benches.cluster.live.launching import (
    Preparation,
    Running,
    Wan,
    kill_nodes,
    stop_nodes,
)
from slotmark.benches.cluster.live.memory import Memory, memory_holders
from slotmark.benches.cluster.live.nodes import Node
from slotmark.benches.cluster.live.placing import Placed
from slotmark.benches.cluster.live.plan import Request
from slotmark.benches.cluster.live.probing import Probe
from slotmark.benches.cluster.live.readiness import (
    LAG_S,
    LIMIT_S,
    refuse_loners,
    refuse_unanswered,
    refuse_unknown_logs,
    refuse_unmatched_tips,
)
from slotmark.benches.cluster.live.rundir import (
    PREPARED,
    SOCKET,
    configure,
    host_places,
)
from slotmark.benches.cluster.live.sampling import (
    Sampler,
    rss_bytes,
)
from slotmark.benches.cluster.live.watching import Agreement, LogEnd, Watch
from slotmark.benches.cluster.live.workload import Generator
from slotmark.errors import TargetError
from slotmark.metrics.catalogue import catalogue
from slotmark.numbers import fixed, mebibytes, plain
from slotmark.warnings import Warning
from slotmark.words import listed

_SHORT_LIFE_S = 10


_MOST_RESTARTS = 3
"""A node that lived so short, so often one after the other, isn't started again."""


_WORKLOAD_MORE_S = 60
"""Time to wait for the workload's beginning, beyond that for nodes."""


_QUERIES_END_S = 5
"""Time that queries may take to end after their nodes: other processes may still hold the nodes' sockets."""


_MEMORY_LOOK_S = 0.1
"""Interval at which the memory is checked: fifty nodes that read a large genesis take a gigabyte a second."""


class Progress(msgspec.Struct, frozen=True):
    """The progress of a live run.

    Attributes:
        doing: What is going on, in words.
        slot: The present slot; negative before slot 0.
        blocks: Different blocks that were some host's tip.
        agreement: How far hosts agree.
        left_s: Seconds left of the measurement; None before it.
        tps: Transactions a second that hosts acknowledged in the measurement; None before, and without a workload.
        run: Which run of a session it is, in words; empty where it stands alone.
        all_left_s: About how many seconds are left of the session; None without one.
    """

    doing: str
    slot: int
    blocks: int
    agreement: Agreement
    left_s: float | None = None
    tps: float | None = None
    run: str = ""
    all_left_s: float | None = None


class DiedError(Exception):
    """A node ended by itself, and with it the run."""


class ShortMemoryError(DiedError):
    """There is too little memory to go on: nodes have to be ended at once."""


class Cluster:
    """The nodes of a run, from their start to their end."""

    def __init__(
        self,
        request: Request,
        placed: Mapping[str, Placed],
        bed: Bed,
        folder: Path,
        start_s: int,
        wan: Wan | None,
        sampler: Sampler,
        on_progress: Callable[[Progress], None],
        on_remark: Callable[[str], None],
        memory: Callable[[], Memory],
    ) -> None:
        self._request, self._bed, self._folder, self._wan = request, bed, folder, wan
        self._named = request.node or listed(list(dict.fromkeys(one.given for one in placed.values())))
        self._placed, self._of = placed, {host: one.node for host, one in placed.items()}
        self._start_s, self._sampler = start_s, sampler
        self._on_progress, self._on_remark, self._memory = on_progress, on_remark, memory
        self._began: float | None = None
        self._ended: float | None = None
        self.began_ns = self.ended_ns = 0
        self.generator: Generator | None = None
        self._next_look = time.monotonic()
        self._queries: dict[str, TipQuery] = {}
        self.nodes: list[Running] = []
        self.warnings: list[Warning] = []
        self._preparation: Preparation | None = None
        self._prepared: dict[str, str] = {}
        self._probe: Probe | None = None
        self._killed = False

    def prepare(self) -> None:
        """Prepares what nodes share, once for all hosts of one recipe, where it has a command for that.

        Raises:
            TargetError: It fails, with its last words, or takes too long.
        """
        firsts: dict[tuple[str, ...], str] = {}
        for host in self._bed.hosts:
            node = self._of[host.name]
            first = firsts.setdefault(tuple(node.recipe.prepare), f"{PREPARED}-{len(firsts)}" if firsts else PREPARED)
            new = first not in self._prepared.values()
            self._prepared[host.name] = first
            configure(self._folder / host.name, self._placed[host.name].settings)
            if new and (command := node.preparation(self._places(host))):
                self._prepare(node, command, host, first.replace(PREPARED, "prepare"))

    def _prepare(self, node: Node, command: list[str], host: Host, name: str) -> None:
        self._preparation = preparation = Preparation(command, self._folder / host.name, self._folder, name)
        end = time.monotonic() + self._request.ready_within_s
        while preparation.ended is None:
            if time.monotonic() > end:
                raise TargetError(
                    f"--node {node.name}: its prepare command has not ended after {self._request.ready_within_s:,} s. Give it more "
                    "time with --ready-within."
                )
            if time.monotonic() >= self._next_look:
                self._next_look = time.monotonic() + 1.0
                self._on_progress(
                    Progress("preparing the genesis", self._slot, 0, Agreement(0, len(self._bed.hosts), None))
                )
            time.sleep(_MEMORY_LOOK_S)
            self._check_memory()
        if preparation.ended != 0:
            raise TargetError(f"--node {node.name}: its prepare command failed: {preparation.last_words()}")

    def _places(self, host: Host) -> Mapping[str, str]:
        magic = self._bed.genesis.network_magic
        return host_places(host, self._request.network, magic, self._prepared.get(host.name, PREPARED))

    def start(self) -> None:
        """Starts all nodes. TargetError where they can't be."""
        for host in self._bed.hosts:
            self._check_memory()
            own = self._placed[host.name]
            self.nodes.append(
                Running(
                    own.node,
                    host,
                    self._folder / host.name,
                    self._places(host),
                    self._wan,
                    own.memory_bytes,
                    own.processors,
                )
            )
        recipes = {host: node.recipe for host, node in self._of.items()}
        self._watch = Watch(
            {
                name: LogEnd(node.log, recipes[name].tip, recipes[name].ready_text)
                for node in self.nodes
                if (name := node.host.name)
            }
        )

    def wait(self) -> None:
        """Waits until all nodes answer, and then until they agree on a block.

        Raises:
            TargetError: They take too long, or one ends.
        """
        waiting = list(self.nodes)

        def ready() -> bool:
            waiting[:] = [node for node in waiting if not self._is_ready(node)]
            return not waiting

        self._until(
            lambda: f"{len(self.nodes) - len(waiting)} of {len(self.nodes)} hosts ready",
            ready,
            lambda: f"{len(waiting):,} nodes don't answer, as {waiting[0].host.name}",
        )
        self._ask_all()
        limit_s = min(LIMIT_S, self._request.ready_within_s / 2)
        read_by = time.monotonic() + limit_s
        tips_by = max(time.monotonic(), time.monotonic() + self._start_s - time.time()) + limit_s

        def agreed() -> bool:
            hosts = [node.host.name for node in self.nodes if node.ended is None]
            if time.monotonic() > read_by:
                refuse_unknown_logs(self._of, self._watch)
            refuse_loners(self._of, self._watch, hosts, min(LAG_S, limit_s / 2), self._folder)
            if time.monotonic() > tips_by and not self._watch.blocks:
                self._refuse_unmatched_tips()
            return self._agreement().complete

        self._until(lambda: "waiting for a block that all hosts have", agreed, self._disagreement)
        refuse_unknown_logs(self._of, self._watch)

    def _ask_all(self) -> None:
        """Asks all nodes for a handshake, as other nodes do. TargetError where one doesn't listen, or is of another network."""
        places = {node.host.name: self._places(node.host) for node in self.nodes if node.ended is None}
        self._probe = probe = Probe(
            {host: f"{of_host['address']}:{of_host['port']}" for host, of_host in places.items()},
            self._bed.genesis.network_magic,
            min(LIMIT_S, self._request.ready_within_s / 2),
            self._wan,
            self._folder,
        )
        self._until(
            lambda: "asking all hosts for a handshake",
            lambda: probe.has_ended,
            lambda: "it isn't known whether nodes listen",
            LIMIT_S,
        )
        ended = {node.host.name for node in self.nodes if node.ended is not None}
        answers = [answer for answer in probe.answers() if answer.host not in ended]
        refuse_unanswered(self._of, self._bed.genesis.network_magic, answers, self._folder)

    def _refuse_unmatched_tips(self) -> None:
        """TargetError where the first node has a block by its socket, though its log has no line of one."""
        node = next(node for node in self.nodes if node.ended is None)
        self._is_answering(node)
        if (tip := self._queries[node.host.name].tip) is None:
            return
        if tip == "origin":
            del self._queries[node.host.name]  # it is asked again
        else:
            refuse_unmatched_tips(self._of[node.host.name], node.log, tip)

    def _disagreement(self) -> str:
        if self._watch.blocks:
            return f"no block is the tip of all hosts, at best of {self._agreement().hosts} of {len(self.nodes)}"
        tips = listed(list(dict.fromkeys(repr(node.recipe.tip) for node in self._of.values())))
        return f"no line of any log matches the recipe's tip = {tips}, or no host has a block"

    def _until(
        self, doing: Callable[[], str], done: Callable[[], bool], missing: Callable[[], str], more_s: float = 0
    ) -> None:
        within_s = self._request.ready_within_s + max(0.0, self._start_s - time.time()) + more_s
        end = time.monotonic() + within_s
        while not done():
            if time.monotonic() > end:
                raise TargetError(
                    f"{self._named}: after {fixed(within_s)} s {missing()}. Look at the nodes' output in {self._folder}, or give them more "
                    "time with --ready-within."
                )
            try:
                self._look(doing())
            except DiedError as death:
                raise TargetError(f"{self._named}: {death}.") from death

    def _pause(self, seconds: float) -> None:
        """Waits, and looks at the memory meanwhile."""
        end = time.monotonic() + seconds
        self._check_memory()
        while (left_s := end - time.monotonic()) > 0:
            time.sleep(min(left_s, _MEMORY_LOOK_S))
            self._check_memory()

    def _check_memory(self) -> None:
        """Raises ShortMemoryError where there is too little left, or before the measurement TargetError."""
        memory = self._memory()
        if not memory.is_short:
            return
        available, total, floor = (
            mebibytes(amount) for amount in (memory.available_bytes, memory.total_bytes, memory.floor_bytes)
        )
        running = [node for node in self.nodes if node.ended is None]
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
        words = f"memory ran short: {available} of {total} were available, less than {floor}, and {use}. {remedy}"
        raise ShortMemoryError(words) if self.measures else TargetError(f"{self._named}: {words}.")

    def _is_ready(self, node: Running) -> bool:
        if self._of[node.host.name].recipe.ready == "log":
            return self._watch.logs[node.host.name].ready
        return self._is_answering(node)

    def _is_answering(self, node: Running) -> bool:
        """Returns whether a node has answered a query of its tip; starts the query where there is none."""
        query = self._queries.get(node.host.name)
        if query is None or query.failed:
            # By the process's own folder: a socket's path may have only 107 bytes, and the run directory's can be longer.
            query = TipQuery(f"/proc/{node.pid}/cwd/{SOCKET}", self._bed.genesis.network_magic)
            self._queries[node.host.name] = query
        return query.answered

    def load(self) -> None:
        """Starts the workload, and waits until what it spends is in blocks.

        Raises:
            TargetError: That takes too long, or the generator or a node ends.
            BedError: The profile has no workload that can be submitted.
        """
        near, within_s = self.nodes[0], self._request.ready_within_s
        self.generator = generator = Generator(
            self._bed,
            self._request.bed,
            self._folder,
            self._request.seconds,
            within_s,
            self._request.seed,
            self._wan,
            (near.folder, SOCKET),
        )
        self._until(
            lambda: (
                "transactions wait for their inputs to be in blocks"
                if "split" in generator.phases()
                else "transactions are signed"
            ),
            lambda: "begun" in generator.phases(),
            lambda: f"the workload has not begun ({generator.words or 'it printed nothing'})",
            _WORKLOAD_MORE_S,  # its own deadline comes first, since it has the reason
        )

    def measure(self) -> None:
        """Lets the cluster run for the time that was asked for, between ``began_ns`` and ``ended_ns``, which are since 1970.

        Raises:
            DiedError: A node ended, and the run with it.
        """
        try:
            self.began_ns, self._began = time.time_ns(), time.monotonic()
            while self.measured_s < self._request.seconds:
                self._look("measuring")
            self._sample()
        finally:
            self._ended, self.ended_ns = time.monotonic(), time.time_ns()

    @property
    def measures(self) -> bool:
        """Returns whether the measurement has begun."""
        return self._began is not None

    @property
    def measured_s(self) -> float:
        """Returns how long the measurement has lasted, or lasted in all; 0 before it."""
        return 0.0 if self._began is None else (self._ended or time.monotonic()) - self._began

    @property
    def measured_slots(self) -> tuple[int, int]:
        """The first slot that lies in the measurement, and the last."""
        return self._slot_at(self.began_ns) + 1, self._slot_at(self.ended_ns) - 1

    @property
    def _slot(self) -> int:
        return self._slot_at(time.time_ns())

    def _slot_at(self, ns: int) -> int:
        return (ns - self._start_s * 10**9) // self._bed.genesis.slot_length_ns

    def _agreement(self) -> Agreement:
        return self._watch.agreement([node.host.name for node in self.nodes if node.ended is None])

    def _look(self, doing: str) -> None:
        """Once a second: logs, processes, a sample, and a word on how far it is."""
        self._next_look = max(self._next_look + 1.0, time.monotonic())
        self._watch.look()
        self._tend()
        self._sample()
        left_s = None if self._began is None else max(0.0, self._request.seconds - self.measured_s)
        tps = None
        if self.generator and self._began is not None:
            tps = self.generator.acknowledged / max(1.0, self.measured_s)
        self._on_progress(Progress(doing, self._slot, self._watch.blocks, self._agreement(), left_s, tps))
        pause_s = self._next_look - time.monotonic()
        if left_s is not None:
            pause_s = min(pause_s, left_s)
        self._pause(pause_s)

    def _sample(self) -> None:
        self._sampler.sample((node.host.name, node.pid) for node in self.nodes if node.ended is None)

    def _tend(self) -> None:
        """Finds nodes that ended by themselves, and does what was asked for then."""
        ended = [node for node in self.nodes if node.ended is not None and not node.given_up]
        workload_ended = self.generator is not None and bool(self.generator.ended)
        if self._wan and self._wan.ended is not None:  # looked at last: it takes all others with it
            raise DiedError(f"the emulated network ended by itself, and all hosts with it: {self._wan.last_words()}")
        if self.generator and workload_ended:
            raise DiedError(f"the workload ended by itself: {self.generator.last_words()}")
        for node in ended:
            words = f"{node.host.name} ended by itself: {node.last_words()}"
            self.warnings.append(catalogue("cluster").warning("node_died", node.host.name, words=node.last_words()))
            self._on_remark(words)  # a user who reads it may stop the run: the warning is kept by then
            short = time.monotonic() - node.started < _SHORT_LIFE_S
            node.short_lives = node.short_lives + 1 if short else 0
            if self._request.on_death == "stop":
                raise DiedError(words)
            if self._request.on_death == "restart":
                if node.short_lives >= _MOST_RESTARTS:
                    raise DiedError(
                        f"{words}; it lived less than {_SHORT_LIFE_S} s {_MOST_RESTARTS} times, one after the other"
                    )
                node.start()
            else:
                node.given_up = True
        if all(node.ended is not None for node in self.nodes):
            raise DiedError("all nodes have ended")

    def stop(self) -> None:
        """Ends the workload, which reads the chain once more, and all nodes, those that don't end in time by force."""
        agreement = self._agreement()
        if self.generator:
            self._on_progress(Progress("reading the chain", self._slot, self._watch.blocks, agreement))
            self.generator.stop()
            if not self.generator.is_whole and not self._killed:
                self.warnings.append(catalogue("cluster").warning("workload_broke", words=self.generator.last_words()))

        def wait(left: int) -> None:
            if time.monotonic() >= self._next_look:
                self._next_look = time.monotonic() + 1.0
                self._on_progress(Progress(f"stopping, {left} left", self._slot, self._watch.blocks, agreement))

        for node in stop_nodes(self.nodes, self._request.grace_s, wait):
            self._on_remark(f"{node.host.name} didn't end within {plain(self._request.grace_s)} s and was killed")
            grace_s = plain(self._request.grace_s)
            self.warnings.append(catalogue("cluster").warning("node_killed", node.host.name, grace_s=grace_s))

    def kill(self) -> None:
        """Ends the workload and all nodes at once, and with them what they were asked."""
        self._killed = True
        if self._preparation:
            self._preparation.kill()
        if self._probe:
            self._probe.kill()
        if self.generator:
            self.generator.kill()
        kill_nodes([node for node in self.nodes if node.ended is None])
        end = time.monotonic() + _QUERIES_END_S
        for query in self._queries.values():
            query.wait(max(0.0, end - time.monotonic()))
