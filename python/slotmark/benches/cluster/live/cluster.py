"""The nodes of a live run, from their start to their end: what is decided about all of them, wherever they run."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import msgspec

from slotmark.benches.cluster.bed import Bed
from slotmark.benches.cluster.live.followed import Followed
from slotmark.benches.cluster.live.readiness import (
    LAG_S,
    LIMIT_S,
    refuse_loners,
    refuse_unanswered,
    refuse_unknown_logs,
    refuse_unmatched_tips,
)
from slotmark.benches.cluster.live.request import Request
from slotmark.benches.cluster.live.sites.part import MEMORY_LOOK_S, Load, Loaded, Look, Part, ShortMemoryError
from slotmark.benches.cluster.live.sites.site import Site
from slotmark.benches.cluster.live.watching import Agreement, Watch
from slotmark.errors import TargetError
from slotmark.metrics.catalogue import catalogue
from slotmark.numbers import fixed, plain
from slotmark.warnings import Warning
from slotmark.words import listed

_SHORT_LIFE_S = 10


_MOST_RESTARTS = 3
"""A node that lived so short, so often one after the other, isn't started again."""


_WORKLOAD_MORE_S = 60
"""Time to wait for the workload's beginning, beyond that for nodes."""


_BEFORE_LOAD = {
    "split": "transactions wait for their inputs to be in blocks",
    "signed": "the funds' split is submitted",
    "": "transactions are signed",
}
"""Words for the work before the load, by the phase that it comes after, the last one first."""


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
    """A node, or a machine, ended by itself, and with it the run."""


class Cluster:
    """The nodes of a run, from their start to their end.

    Args:
        request: What is asked for.
        site: Where it runs; all machines have begun.
        bed: The bed.
        start_s: When slot 0 begins.
        on_progress: Called about once a second.
        on_remark: Called with remarks for the user that can't wait.

    Attributes:
        loaded: What became of the workload; None before its end, or without one.
        versions: Host to the version that its node's program states; without those that state none.
        warnings: What happened that readers of figures must know.
        places: Where each host listens, as ``10.0.0.1:3001``.
    """

    def __init__(
        self,
        request: Request,
        site: Site,
        bed: Bed,
        start_s: int,
        on_progress: Callable[[Progress], None],
        on_remark: Callable[[str], None],
    ) -> None:
        self._request, self._bed = request, bed
        given = list(dict.fromkeys(one.given for one in site.placed.values()))
        self._named = (
            f"--node {request.node}" if request.node else f"{'nodes' if len(given) > 1 else 'node'} {listed(given)}"
        )
        self._of = {host: one.node for host, one in site.placed.items()}
        self.places = {host.name: f"{site.addresses[host.name]}:{host.port}" for host in bed.hosts}
        self._begins_s = start_s + bed.genesis.first_slot * bed.genesis.slot_length_ns / 1e9
        self._start_s, self._machines, self._folders = start_s, site.machines, site.folders
        self._output = listed(site.output)
        self._on_progress, self._on_remark = on_progress, on_remark
        self._began: float | None = None
        self._ended: float | None = None
        self.began_ns = self.ended_ns = 0
        self.loaded: Loaded | None = None
        self._load: Load | None = None
        self._asked = False
        self._network_ended = ""
        self._next_look = time.monotonic()
        self._hosts: dict[str, Followed] = {}
        self._watch = Watch({})
        self.warnings: list[Warning] = []
        self.versions: dict[str, str] = {}
        self._told: set[str] = set()
        self._killed = self._loads = False
        self._waited_for = ""

    @property
    def started(self) -> bool:
        """Returns whether nodes were started."""
        return bool(self._hosts)

    @property
    def _first(self) -> str:
        """The machine of the first host, which asks the others and has the workload."""
        return self._machines.of(self._bed.hosts[0].name)

    def run(self) -> None:
        """Prepares and starts the nodes, waits until they agree, starts the workload, and measures.

        Raises:
            TargetError: The measurement could not begin.
            BedError: The profile has no workload that can be submitted.
            DiedError: A node or a machine ended in the measurement, and the run with it.
            ShortMemoryError: There was too little memory to go on.
        """
        self._prepare()
        self._start()
        self._wait()
        if self._request.workload:
            self._begin_load()
        self._measure()

    def _prepare(self) -> None:
        """Prepares what nodes share, where a recipe has a command for that.

        Raises:
            TargetError: It fails, with its last words, or takes too long.
        """
        with self._doing("preparing the genesis"):
            for stated in self._machines.each(Part.prepare, self._request.ready_within_s).values():
                self.versions |= stated
        self._refuse_lost()

    def _start(self) -> None:
        """Starts all nodes. TargetError where they can't be."""
        with self._doing("starting"):
            self._machines.each(Part.start)
        self._hosts = {
            host.name: Followed(
                self._folders[self._machines.of(host.name)] / host.name / "stdout", self._bed.genesis.first_slot
            )
            for host in self._bed.hosts
        }
        self._watch = Watch(self._hosts)
        self._refuse_lost()

    def _wait(self) -> None:
        """Waits until all nodes answer, and then until they agree on a block.

        Raises:
            TargetError: They take too long, or one ends.
        """

        def waiting() -> list[str]:
            return [name for name, host in self._hosts.items() if not host.ready and not host.given_up]

        self._until(
            lambda: f"{len(self._hosts) - len(waiting())} of {len(self._hosts)} hosts ready",
            lambda: not waiting(),
            lambda: f"{len(waiting()):,} nodes don't answer, as {waiting()[0]}",
        )
        self._ask_all()
        limit_s = min(LIMIT_S, self._request.ready_within_s / 2)
        read_by = time.monotonic() + limit_s
        tips_by = max(time.monotonic(), time.monotonic() + self._begins_s - time.time()) + limit_s

        def agreed() -> bool:
            if time.monotonic() > read_by:
                refuse_unknown_logs(self._of, self._watch)
            refuse_loners(self._of, self._watch, self._running, min(LAG_S, limit_s / 2), self._output)
            if time.monotonic() > tips_by and not self._watch.blocks:
                self._refuse_unmatched_tips()
            return self._agreement().complete

        self._until(lambda: "waiting for a block that all hosts have", agreed, self._disagreement)
        refuse_unknown_logs(self._of, self._watch)

    @property
    def _running(self) -> list[str]:
        return [name for name, host in self._hosts.items() if not host.ended]

    def _ask_all(self) -> None:
        """Asks all nodes that others follow for a handshake, as those do. TargetError where one doesn't listen, or is of another network."""
        followed = {host.name for host in self._bed.hosts if not host.edge}
        places = {name: self.places[name] for name in self._running if name in followed}
        self._machines.call(self._first, Part.ask, places, min(LIMIT_S, self._request.ready_within_s / 2))
        self._until(
            lambda: "asking hosts for a handshake",
            lambda: self._asked,
            lambda: "it isn't known whether nodes listen",
            LIMIT_S,
        )
        found = self._machines.call(self._first, Part.answers)
        self._refuse_lost()
        answers = [answer for answer in found or () if answer.host in self._running]
        refuse_unanswered(self._of, self._bed.genesis.network_magic, answers, self._output)

    def _refuse_unmatched_tips(self) -> None:
        """TargetError where the first node has a block by its socket, though its log has no line of one."""
        host = self._running[0]
        tip = self._machines.call(self._machines.of(host), Part.tip, host, self._bed.genesis.first_slot)
        if tip is not None:
            refuse_unmatched_tips(self._of[host], self._hosts[host].path, tip)

    def _disagreement(self) -> str:
        if self._watch.blocks:
            return f"no block is the tip of all hosts, at best of {self._agreement().hosts} of {len(self._hosts)}"
        tips = listed(list(dict.fromkeys(repr(node.recipe.tip) for node in self._of.values())))
        return f"no line of any log matches the recipe's tip = {tips}, or no host has a block"

    def _until(
        self, doing: Callable[[], str], done: Callable[[], bool], missing: Callable[[], str], more_s: float = 0
    ) -> None:
        within_s = self._request.ready_within_s + max(0.0, self._begins_s - time.time()) + more_s
        end = time.monotonic() + within_s
        while not done():
            if time.monotonic() > end:
                raise TargetError(
                    f"{self._named}: after {fixed(within_s)} s {missing()}. Look at the nodes' output in {self._output}, or give them more "
                    "time with --ready-within."
                )
            try:
                self._look(doing())
            except DiedError as death:
                raise self._ended_by(death) from death
            except ShortMemoryError as short:
                raise self._short(short) from short

    def _ended_by(self, death: DiedError) -> TargetError:
        """The error of a node or a machine that ended before the measurement; a node's last words may end with a full stop of their own."""
        return TargetError(f"{self._named}: {str(death).removesuffix('.')}.")

    def _short(self, error: ShortMemoryError) -> TargetError:
        """The error of memory that ran short before the measurement."""
        return TargetError(f"{self._named}: {error}.")

    @contextmanager
    def _doing(self, what: str) -> Iterator[None]:
        """Says what machines are doing for as long as they are waited for."""
        self._waited_for = what
        try:
            yield
        except ShortMemoryError as short:
            raise self._short(short) from short
        finally:
            self._waited_for = ""

    def tick(self) -> None:
        """Shows once a second what machines are waited for."""
        if self._waited_for and time.monotonic() >= self._next_look:
            self._next_look = time.monotonic() + 1.0
            agreement = self._agreement() if self._hosts else Agreement(0, len(self._bed.hosts), None)
            self._on_progress(Progress(self._waited_for, self._slot, self._watch.blocks, agreement))

    def _pause(self, seconds: float) -> None:
        """Waits, and looks at the memory meanwhile."""
        end = time.monotonic() + seconds
        self._machines.check_memory()
        while (left_s := end - time.monotonic()) > 0:
            time.sleep(min(left_s, MEMORY_LOOK_S))
            self._machines.check_memory()

    def _begin_load(self) -> None:
        """Starts the workload, and waits until what it spends is in blocks.

        Raises:
            TargetError: That takes too long, or the generator or a node ends.
            BedError: The profile has no workload that can be submitted.
        """
        within_s = self._request.ready_within_s
        self._machines.call(self._first, Part.load, self._request.seconds, within_s, self._request.seed)
        self._refuse_lost()
        self._loads = True

        def phases() -> list[str]:
            return self._load.phases if self._load else []

        def doing() -> str:
            return next(words for phase, words in _BEFORE_LOAD.items() if not phase or phase in phases())

        self._until(
            doing,
            lambda: "begun" in phases(),
            lambda: (
                f"the workload has not begun: {doing()} ({(self._load and self._load.words) or 'it printed nothing'})"
            ),
            _WORKLOAD_MORE_S,  # its own deadline comes first, since it has the reason
        )

    def _measure(self) -> None:
        """Lets the cluster run for the time that was asked for, between ``began_ns`` and ``ended_ns``, which are since 1970.

        Raises:
            DiedError: A node or a machine ended, and the run with it.
            ShortMemoryError: There is too little memory to go on.
        """
        try:
            self.began_ns, self._began = time.time_ns(), time.monotonic()
            while self.measured_s < self._request.seconds:
                self._look("measuring")
            self._machines.each(Part.sample)
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
        return self._watch.agreement(self._running)

    def _look(self, doing: str) -> None:
        """Once a second: logs, processes, a sample, and a word on how far it is."""
        self._next_look = max(self._next_look + 1.0, time.monotonic())
        for look in self._machines.looks():
            self._note(look)
        self._watch.look()
        self._tend()
        left_s = None if self._began is None else max(0.0, self._request.seconds - self.measured_s)
        tps = None
        if self._load and self._began is not None:
            tps = self._load.acknowledged / max(1.0, self.measured_s)
        self._on_progress(Progress(doing, self._slot, self._watch.blocks, self._agreement(), left_s, tps))
        pause_s = self._next_look - time.monotonic()
        if left_s is not None:
            pause_s = min(pause_s, left_s)
        self._machines.rest(pause_s)
        self._pause(pause_s)

    def _note(self, look: Look) -> None:
        for name, host in look.hosts.items():
            self._hosts[name].note(host)
        self._load = look.load or self._load
        self._asked = self._asked or look.asked
        self._network_ended = self._network_ended or look.network_ended

    def _tend(self) -> None:
        """Finds nodes that ended by themselves and machines that were lost, and does what was asked for then."""
        if self._network_ended:
            raise DiedError(f"the emulated network ended by itself, and all hosts with it: {self._network_ended}")
        self._tend_lost()
        if self._load and self._load.ended:
            raise DiedError(f"the workload ended by itself: {self._load.ended}")
        for name, host in self._hosts.items():
            if not host.ended or host.given_up:
                continue
            words = f"{name} {host.how}: {host.ended}"
            self.warnings.append(catalogue("cluster").warning("node_died", name, words=host.ended))
            self._on_remark(words)  # a user who reads it may stop the run: the warning is kept by then
            short = time.monotonic() - host.started < _SHORT_LIFE_S
            host.short_lives = host.short_lives + 1 if short else 0
            if self._request.on_death == "stop":
                raise DiedError(words)
            if self._request.on_death == "restart":
                if host.short_lives >= _MOST_RESTARTS:
                    raise DiedError(
                        f"{words}; it lived less than {_SHORT_LIFE_S} s {_MOST_RESTARTS} times, one after the other"
                    )
                self._machines.call(self._machines.of(name), Part.restart, name)
                host.restarted()
            else:
                host.given_up = True
        if not self._running:
            raise DiedError("all nodes have ended")

    def _tend_lost(self) -> None:
        """Finds machines that were lost."""
        for name, said in self._machines.lost.items():
            if name in self._told:
                continue
            self._told.add(name)
            hosts, why = self._machines.hosts(name), said.removesuffix(".")
            words = f"{name} was lost, and with it {listed(hosts)}: {why}"
            lost = catalogue("cluster").warning("machine_lost", name, hosts=hosts, why=why, slot=str(self._slot))
            self.warnings.append(lost)
            self._on_remark(words)
            for host in hosts:
                if host in self._hosts:
                    self._hosts[host].ended, self._hosts[host].given_up = f"{name} was lost", True
            if self._load and not self._load.ended and name == self._first:
                self._load = None
                raise DiedError(f"{words}; the workload ran there")
            if self._request.on_loss == "stop" or not self.measures:
                raise DiedError(words)

    def _refuse_lost(self) -> None:
        """TargetError where a machine was lost before the measurement."""
        try:
            self._tend_lost()
        except DiedError as death:
            raise self._ended_by(death) from death

    def stop(self) -> None:
        """Ends the workload, which reads the chain once more, and all nodes, those that don't end in time by force."""
        if self._loads:
            with self._doing("reading the chain"):
                self._machines.call(self._first, Part.end_load)
        with self._doing("stopping"):
            killed = self._machines.each(Part.stop, self._request.grace_s)
        for host in [host for hosts in killed.values() for host in hosts]:
            self._on_remark(f"{host} didn't end within {plain(self._request.grace_s)} s and was killed")
            grace_s = plain(self._request.grace_s)
            self.warnings.append(catalogue("cluster").warning("node_killed", host, grace_s=grace_s))
        if self._loads:
            self.loaded = self._machines.call(self._first, Part.loaded)
            if self.loaded is None:
                broke = "the machine that it ran on was lost"
            else:
                broke = "" if self._killed else self.loaded.broke
            if broke:
                self.warnings.append(catalogue("cluster").warning("workload_broke", words=broke))

    def kill(self) -> None:
        """Ends the workload and all nodes at once, and with them what they were asked."""
        self._killed = True
        self._machines.each(Part.kill)
