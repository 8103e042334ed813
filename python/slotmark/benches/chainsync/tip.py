"""Clients at a node's tip: from what was asked for to run folders.

All clients follow one node at the same time, each through a relay of its own that notes when the node's announcements arrive.
docs/chainsync.md explains what the figures hold.
"""

import time
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import ExitStack

import msgspec
import pyarrow as pa

from slotmark import _core
from slotmark.benches.chainsync.bench import default_targets
from slotmark.benches.chainsync.following import Announced, Block, Follower
from slotmark.benches.chainsync.request import Request
from slotmark.benches.chainsync.runs import other_node, target_of, version_of
from slotmark.benches.chainsync.server import Node
from slotmark.benches.chainsync.session import Failure
from slotmark.benches.chainsync.setting import Mode, Setting
from slotmark.benches.chainsync.tables import ANNOUNCEMENTS, ROLLBACKS
from slotmark.benches.chainsync.targets import Program, resolve
from slotmark.errors import ServerError, SlotmarkError, TargetError
from slotmark.measure.manifest import NewRun, write_runs
from slotmark.measure.process import nothing_left, refuse_without_linux
from slotmark.measure.session import Head, new_session
from slotmark.metrics.catalogue import catalogue
from slotmark.numbers import fixed
from slotmark.run import Run, machine_facts, machine_warnings, utc_now
from slotmark.run.folder import refuse_existing
from slotmark.warnings import ENOUGH_EVENTS, Warning
from slotmark.words import counted

BENCH = "follow"

LOOK_S = 0.2
"""Time between two looks at clients and relays. Times are taken elsewhere; a look takes time that clients may need."""

REACH_S = 60
"""Time that a client may take from its start to the node's tip."""

STARTS = 4
"""Starts of a client that doesn't get as far as the tip: the node may have rolled back behind the point to start at."""

SETTLE_S = 5
"""Time that blocks announced before the end may take until the client has done with them."""


class Followed(msgspec.Struct, frozen=True, kw_only=True):
    """The result of following.

    Attributes:
        runs: One per target.
        failures: Clients that failed, of which nothing was kept in that mode.
        cut: Why it ended before its time; empty where it didn't.
        interrupted: Whether there was a Ctrl-C, also one behind its time, while clients were ended.
    """

    runs: list[Run]
    failures: list[Failure]
    cut: str
    interrupted: bool


class _Row(msgspec.Struct, frozen=True):
    """A block that the node announced to a client in the time that counts."""

    announced: Announced
    number: int
    decoded: Block | None


OnLook = Callable[[float, int], None]
"""Called at each look with the seconds that are over, and the number of blocks that the node announced to the client that got most."""


def follow(request: Request, on_remark: Callable[[str], None], on_look: OnLook) -> Followed:
    """Follows, and writes a run folder per target.

    Args:
        request: The request to carry out.
        on_remark: Called with remarks for a person.
        on_look: Called at each look.

    Raises:
        SlotmarkError: Something that the user can mend; nothing was written.
        KeyboardInterrupt: It was interrupted before there was a block.
    """
    refuse_without_linux("chainsync run")
    programs = resolve(request.targets or default_targets())
    pairs = _able(programs, request, on_remark)
    names = list(dict.fromkeys(program.name for program, _ in pairs))
    for name in names:
        refuse_existing(request.out / name)
    head = new_session(machine_facts(), utc_now(), {})
    failures: list[Failure] = []
    with nothing_left(), ExitStack() as stack:
        node = stack.enter_context(Node(request.place.node_socket, request.place.node))
        tips: dict[str, str] = {}
        followers: list[Follower] = []
        for program, mode in pairs:
            setting = Setting(mode, 1)
            address = node.address(setting)
            if address not in tips:
                tips[address] = _core.node_tip(address, setting.node_to_node, request.magic)
            followers.append(stack.enter_context(Follower(program, mode, address, request.magic, tips[address])))
        going = _Going(
            followers,
            failures,
            lambda one: _core.node_tip(node.address(one.case.setting), one.case.setting.node_to_node, request.magic),
        )
        began_ns, ended_ns, cut, interrupted = going.follow(request.follow_s, on_look)
        facts = _Facts(
            request=request,
            head=head,
            ended=utc_now(),
            node=node,
            start=next(iter(tips.values())),
            clients=len(pairs),
            asked_s=request.follow_s,
            ran_s=(ended_ns - began_ns) / 1e9,
            cut=cut,
            began_ns=began_ns,
        )
        rows = {follower: _rows(follower, began_ns, ended_ns) for follower in going.left}
    for follower in [one for one, of_it in rows.items() if not _counting(of_it)]:
        if any(map(_counting, rows.values())):
            error = TargetError(f"{follower}: has done with no block that it waited for, where another client has.")
            failures.append(Failure(follower.case, error))
        del rows[follower]
    if not rows:
        if interrupted:
            raise KeyboardInterrupt
        if failures:
            raise failures[-1].error
        if cut:
            raise ServerError(f"{cut}, before any block was measured. Nothing was kept.")
        raise ServerError(
            f"{node.label}: announced no block within {fixed(request.follow_s)} s. Is it in sync with a network that makes blocks? Follow for longer."
        )
    runs = write_runs(
        _new_run(facts, program, {one: rows[one] for one in rows if one.program is program}, failures)
        for program in programs
        if any(one.program is program for one in rows)
    )
    return Followed(runs=runs, failures=failures, cut=cut, interrupted=interrupted)


def _able(
    programs: Sequence[Program], request: Request, on_remark: Callable[[str], None]
) -> list[tuple[Program, Mode]]:
    """The targets in the modes in which they can follow.

    Raises:
        TargetError: One that was named can follow in none of the modes, or none can.
    """
    able: list[tuple[Program, Mode]] = []
    for program in programs:
        modes = program.description.follow
        can: list[Mode] = [mode for mode in request.modes if mode in modes]
        if not can and request.targets:
            offers = f"It can in {', '.join(modes)}" if modes else "Its `describe` names no mode to `follow` in"
            raise TargetError(
                f"{program.name}: can't follow a node at its tip in {', '.join(request.modes)}. {offers}. Change --mode or --target."
            )
        for mode in request.modes:
            if mode not in can:
                on_remark(f"{program.name} can't follow in {mode}: left out")
        able.extend((program, mode) for mode in can)
    if not able:
        raise TargetError(f"no target that is built can follow a node in {', '.join(request.modes)}. Run `make setup`.")
    return able


class _Going:
    """The clients that are still following."""

    def __init__(self, followers: Sequence[Follower], failures: list[Failure], tip: Callable[[Follower], str]) -> None:
        self.left = list(followers)
        self._failures = failures
        self._tip = tip
        self._starts = Counter(followers)

    def follow(self, duration_s: float, on_look: OnLook) -> tuple[int, int, str, bool]:
        """Follows until the time is over: when it began and ended, why it was cut, and whether there was a Ctrl-C."""
        began_ns = time.monotonic_ns()
        cut, interrupted = "", False
        try:
            self._reach_tip()
            began_ns = time.monotonic_ns()
            while (past_s := (time.monotonic_ns() - began_ns) / 1e9) < duration_s and not cut:
                on_look(past_s, self._announced(began_ns))
                time.sleep(min(LOOK_S, max(duration_s - past_s, 0.0)))
                self._look()
                cut = self._ended()
        except KeyboardInterrupt:
            cut, interrupted = "interrupted", True
        ended_ns = time.monotonic_ns()
        try:
            self._let_go()
        except KeyboardInterrupt:
            interrupted = True  # who doesn't want to wait keeps what was measured: clients are ended by force
        return began_ns, ended_ns, cut, interrupted

    def _let_go(self) -> None:
        """Waits for blocks that clients are busy with, and for the clients' ends."""
        deadline = time.monotonic() + SETTLE_S
        while (
            any(one.ended is None and len(one.decoded) < len(one.announced) for one in self.left)
            and time.monotonic() < deadline
        ):
            time.sleep(LOOK_S)
            self._look()
        for one in list(self.left):
            try:
                one.leave()
            except TargetError as error:
                self._fail(one, error)

    def _reach_tip(self) -> None:
        """Waits until all clients wait at the node's tip."""
        deadline = time.monotonic() + REACH_S
        while waiting := [one for one in self.left if not one.waiting and one.ended is None]:
            if time.monotonic() > deadline:
                for one in waiting:
                    self._fail(one, TargetError(f"{one}: did not reach the node's tip within {REACH_S} s."))
                return
            time.sleep(0.02)
            self._look()

    def _look(self) -> None:
        for one in list(self.left):
            self._look_at(one)

    def _look_at(self, one: Follower) -> None:
        try:
            one.look()
        except TargetError as error:
            if one.waiting or one.announced or self._starts[one] == STARTS:
                self._fail(one, error)
                return
            self._starts[one] += 1
            try:
                one.begin_again(self._tip(one))
            except SlotmarkError:
                self._fail(one, error)

    def _fail(self, one: Follower, error: TargetError) -> None:
        self.left.remove(one)
        self._failures.append(Failure(one.case, error))

    def _ended(self) -> str:
        """The reason why no client is left that follows; empty where there is one."""
        if not self.left:
            return "no client is left"
        ends = [one.ended for one in self.left]
        return f"the node ended: {ends[0].why}" if ends[0] is not None and all(ends) else ""

    def _announced(self, began_ns: int) -> int:
        return max((sum(seen.announced_ns >= began_ns for seen in one.announced) for one in self.left), default=0)


def _rows(follower: Follower, began_ns: int, ended_ns: int) -> list[_Row]:
    """The blocks that were announced to a client in the time that counts; each with how often it was by then."""
    times: Counter[str] = Counter()
    rows: list[_Row] = []
    for place, announced in enumerate(follower.announced):
        times[announced.hash] += 1
        if began_ns <= announced.announced_ns <= ended_ns:
            decoded = follower.decoded[place] if place < len(follower.decoded) else None
            rows.append(_Row(announced, times[announced.hash], decoded))
    return rows


def _counting(rows: Sequence[_Row]) -> bool:
    return any(row.announced.awaited and row.decoded for row in rows)


class _Facts(msgspec.Struct, frozen=True, kw_only=True):
    """Facts that all runs of a session have in common."""

    request: Request
    head: Head
    ended: str
    node: Node
    start: str
    clients: int
    asked_s: float
    ran_s: float
    cut: str
    began_ns: int


def _new_run(facts: _Facts, program: Program, rows: dict[Follower, list[_Row]], failures: Sequence[Failure]) -> NewRun:
    name, description = program.name, program.description
    return NewRun(
        folder=facts.request.out / name,
        head=facts.head,
        ended=facts.ended,
        bench=BENCH,
        target=target_of(name, description),
        workload={"network magic": str(facts.request.magic), "node": facts.node.place, "from": facts.start},
        parameters={
            "follow, s": facts.asked_s,
            "modes": list(facts.request.modes),
            "server": facts.node.label,
            "pinned": False,
        },
        tables={"announcements": _announcements(rows, facts.began_ns), "rollbacks": _rollbacks(rows, facts)},
        sources=[],
        versions=dict([version_of((name, description))]),
        warnings=_warnings(facts, rows, [one for one in failures if one.case.program == name]),
    )


def _announcements(rows: dict[Follower, list[_Row]], began_ns: int) -> pa.Table:
    made = [
        {
            "setting": follower.mode,
            "mode": follower.mode,
            "slot": row.announced.slot,
            "hash": row.announced.hash,
            "announcement": row.number,
            "awaited": row.announced.awaited,
            "bytes": row.announced.bytes,
            "announced_ns": row.announced.announced_ns - began_ns,
            "arrived_ns": row.announced.arrived_ns - began_ns,
            "decoded_ns": row.decoded.at_ns - began_ns if row.decoded else None,
            "latency_ns": row.decoded.at_ns - row.announced.announced_ns if row.decoded else None,
            "held_ns": row.announced.held_ns,
        }
        for follower, of_it in rows.items()
        for row in of_it
    ]
    return pa.Table.from_pylist(made, schema=ANNOUNCEMENTS)


def _rollbacks(rows: dict[Follower, list[_Row]], facts: _Facts) -> pa.Table:
    until_ns = facts.began_ns + round(facts.ran_s * 1e9)
    made = [
        {"setting": follower.mode, "at_ns": back.at_ns - facts.began_ns, "to": back.to}
        for follower in rows
        for back in follower.rollbacks
        if facts.began_ns <= back.at_ns <= until_ns
    ]
    return pa.Table.from_pylist(made, schema=ROLLBACKS)


def _cut(after_s: float, asked_s: float, why: str) -> Warning:
    return catalogue(BENCH).warning("cut_at_tip", after_s=fixed(after_s), asked_s=fixed(asked_s), why=why)


def _warnings(facts: _Facts, rows: dict[Follower, list[_Row]], failures: Sequence[Failure]) -> list[Warning]:
    versions_spoken = [one.ready.version for one in rows if one.ready is not None]
    of_bench = catalogue(BENCH)
    found = [other_node(of_bench, facts.node.label, facts.node.program, versions_spoken)]
    if facts.clients + 2 > facts.head.machine.cores:
        cores = counted(facts.head.machine.cores, "core")
        found.append(of_bench.warning("crowded", clients=facts.clients, cores=cores))
    found += machine_warnings(facts.head.machine)
    if facts.cut:
        found.append(_cut(facts.ran_s, facts.asked_s, facts.cut))
    for one in failures:
        found += of_bench.warnings_on("failed", one.case.setting.mode, why=str(one.error))
    for follower, of_it in rows.items():
        subject = str(follower)
        if follower.ended is not None and not facts.cut:
            after_s = (follower.ended.at_ns - facts.began_ns) / 1e9
            found.append(_cut(after_s, facts.asked_s, f"the node ended this client's connection: {follower.ended.why}"))
        if missed := sum(not row.announced.awaited for row in of_it):
            found.append(of_bench.warning("not_awaited", subject, blocks=missed, announced=len(of_it)))
        if undone := sum(row.decoded is None for row in of_it):
            were = f"{counted(undone, 'block')} {'was' if undone == 1 else 'were'}"
            found.append(of_bench.warning("never_done", subject, blocks=were))
        counting = sum(row.announced.awaited and row.decoded is not None for row in of_it)
        if counting < ENOUGH_EVENTS:
            count, enough = counted(counting, "block"), str(ENOUGH_EVENTS)
            found += of_bench.warnings_on("too_few", subject, count=count, enough=enough)
    return found
