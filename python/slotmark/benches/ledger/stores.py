"""Stores alone: from what was asked for to run folders, one per store and round. docs/stores.md describes the work."""

import os
import shutil
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import msgspec
import pyarrow as pa

from slotmark.benches.ledger.engine import refuse_unknown_store
from slotmark.benches.ledger.request import StoresRequest
from slotmark.benches.ledger.scratch import scratch_below
from slotmark.benches.ledger.store_work import OF_A_BATCH, DiskReads, Work, Worked, disk_reads, program, prove, work
from slotmark.benches.ledger.tables import BATCHES, STORE_PROCESS
from slotmark.errors import ArgumentError, TargetError
from slotmark.measure import session
from slotmark.measure.content import in_words
from slotmark.measure.limits import Limited, Limits, limited
from slotmark.measure.manifest import NewRun, refuse_others, write_runs
from slotmark.measure.process import refuse_without_linux
from slotmark.measure.session import OnStep, Turns
from slotmark.metrics.catalogue import catalogue
from slotmark.numbers import fixed
from slotmark.run import Run, Target, machine_facts, open_run, utc_now
from slotmark.run.folder import refuse_existing
from slotmark.run.manifest import ROUND, TARGET_PLACE
from slotmark.warnings import Warning

BENCH = "stores"

USUAL_BATCHES = 10_000
"""Batches of the published benchmark, one after the other."""

Failure = session.Failure[str]
Round = session.Round[str, str]
"""A round: the name of each store's run folder."""


class Schedule(msgspec.Struct, frozen=True, kw_only=True):
    """The measurements of a session.

    Attributes:
        request: The request.
        works: The work of each process, by the target's name, in the order in which they were named.
        limited: How each is started.
        head: The session.
        scratch: A folder for stores.
        disk: Random reads of its disk; empty where they can't be measured.
        warnings: Of every run.
    """

    request: StoresRequest
    works: Mapping[str, Work]
    limited: Limited
    head: session.Head
    scratch: Path
    disk: Sequence[DiskReads]
    warnings: Sequence[Warning]


def run(request: StoresRequest, on_remark: Callable[[str], None], on_step: OnStep) -> tuple[list[Run], list[Failure]]:
    """Proves the stores, measures them in turns, and writes a run folder per store and round.

    Args:
        request: The request to carry out.
        on_remark: Called with remarks for a person.
        on_step: Called before and after each process.

    Returns:
        The runs, and the stores that failed; their rounds before that are kept.

    Raises:
        SlotmarkError: Something that the user can mend; finished rounds are kept.
    """
    refuse_without_linux("ledger stores")
    works = works_of(request)
    way = limited(Limits(memory_bytes=request.memory_limit_bytes), "--memory-limit")
    places = [request.out / _run_name(name, number) for number in range(1, request.rounds + 1) for name in works]
    if not request.resume:
        for place in places:
            refuse_existing(place)
    asked = session.asked_for(
        {**_parameters(request), **_workload(next(iter(works.values())))},
        [(name, f"{one.store} of {in_words([program()])}") for name, one in works.items()],
        {},
    )
    head = session.new_session(machine_facts(), utc_now(), asked)
    with (
        session.open_session(
            request.out, head, Round, rounds=request.rounds, resume=request.resume, on_remark=on_remark
        ) as kept,
        scratch_below(request.out) as scratch,
    ):
        refuse_others(places, kept.head.session)
        _remove_unfinished(places, kept.rounds)
        disk, unknown = _disk(scratch, request.timeout_s, on_remark)
        unproven = _unproven(request, works, scratch, on_remark)
        failed = {failure.case for failure in unproven}
        schedule = Schedule(
            request=request,
            works={name: one for name, one in works.items() if name not in failed},
            limited=way,
            head=kept.head,
            scratch=scratch,
            disk=disk,
            warnings=[*kept.warnings(), *unknown, *_warnings(request)],
        )
        _, failures = session.conduct(_turns(schedule), on_step, kept.rounds, kept.keep)
        kept.remove()
    return [open_run(place) for place in places if place.exists()], [*unproven, *failures]


def works_of(request: StoresRequest) -> dict[str, Work]:
    """The work of each store's processes, by the target's name.

    Raises:
        ArgumentError: There is no such store, two have one name, or there are too few entries for so many batches.
        TargetError: Our programs aren't built.
    """
    most = request.entries // OF_A_BATCH
    batches = min(USUAL_BATCHES, most) if request.batches is None else request.batches
    if not 1 <= batches <= most:
        raise ArgumentError(
            f"--batches {batches:,}: {request.entries:,} entries are enough for {most:,}, since no key is looked up twice. "
            f"Give more --entries, {OF_A_BATCH} for each batch."
        )
    works: dict[str, Work] = {}
    for text in request.stores:
        name, _, store = text.rpartition("=")
        name = name or store
        refuse_unknown_store(f"--store {store}", store)
        if name in works or "/" in name or name.startswith("."):
            raise ArgumentError(
                f"--store {text}: expected a name for each that no other has and that can be a folder's, as a=lsm,b=lsm."
            )
        works[name] = Work(
            name=name,
            store=store,
            entries=request.entries,
            batches=batches,
            pipelined=request.pipelined,
            readers=request.readers,
            seed=request.seed,
        )
    if not works:
        raise ArgumentError("nothing to measure. Give --store, as memory,lsm,lmdb.")
    return works


def _parameters(request: StoresRequest) -> dict[str, str | int]:
    """The parameters that decide the runs beside their workload, as they are recorded."""
    limit = request.memory_limit_bytes
    return {
        "rounds": request.rounds,
        "seed": request.seed,
        "readers": request.readers,
        "proof": request.proof,
        "memory limit": "none" if limit is None else f"{limit:,} bytes",
    }


def _workload(one: Work) -> dict[str, str]:
    return {
        "entries": f"{one.entries:,}",
        "batches": f"{one.batches:,}",
        "batch": f"{OF_A_BATCH} look-ups, {OF_A_BATCH} inserts and {OF_A_BATCH} deletes",
        "keys and values": "34 and 60 bytes, evenly spread",
        "order of work": "pipelined" if one.pipelined else "serial",
    }


def _run_name(name: str, number: int) -> str:
    return f"{name}-{number}"


def _remove_unfinished(places: Sequence[Path], rounds: Sequence[Round]) -> None:
    """Removes runs of a round that was cut: all of it is measured again."""
    finished = {one.result for done in rounds for one in done.measured}
    for place in places:
        if place.name not in finished and place.exists():
            shutil.rmtree(place)


def _disk(
    scratch: Path, timeout_s: float, on_remark: Callable[[str], None]
) -> tuple[Sequence[DiskReads], list[Warning]]:
    """Random reads of the disk below a folder; or a warning with the reason why there are none."""
    try:
        found = disk_reads(scratch, timeout_s)
    except TargetError as error:
        return [], [catalogue(BENCH).warning("disk_not_measured", why=str(error))]
    for one in found:
        on_remark(f"the disk: {fixed(one.per_s)} random reads of 4 KiB per second, {one.depth} at a time")
    return found, []


def _unproven(
    request: StoresRequest, works: Mapping[str, Work], scratch: Path, on_remark: Callable[[str], None]
) -> list[Failure]:
    """The targets whose stores gave a wrong answer; TargetError where none is left."""
    found: list[Failure] = []
    reasons: dict[str, TargetError | None] = {}
    for name, one in works.items():
        if one.store not in reasons:
            on_remark(f"proving {one.store}: {request.proof:,} operations, and processes that are killed")
            try:
                prove(one.store, one.store, request.proof, request.seed, scratch, request.timeout_s)
                reasons[one.store] = None
            except TargetError as error:
                reasons[one.store] = error
        if why := reasons[one.store]:
            found.append(Failure(name, why))
    if len(found) == len(works):
        raise found[-1].error
    return found


def _warnings(request: StoresRequest) -> list[Warning]:
    of_bench = catalogue(BENCH)
    unlimited_cache = [] if request.memory_limit_bytes else [of_bench.warning("page_cache_free")]
    return [of_bench.warning("our_stores"), *unlimited_cache]


def _turns(schedule: Schedule) -> Turns[str, str]:
    def measure(name: str, number: int, order: int) -> str:
        request, load = schedule.request, os.getloadavg()[0]
        started, grouped = utc_now(), request.memory_limit_bytes is not None
        worked = work(schedule.works[name], schedule.scratch, request.timeout_s, schedule.limited, grouped=grouped)
        write_runs([_run(schedule, name, number, order, load, started, worked)])
        return _run_name(name, number)

    return Turns(
        cases=list(schedule.works),
        measure=measure,
        rounds=schedule.request.rounds,
        seed=schedule.request.seed,
        figure=lambda _: "",
    )


def _run(schedule: Schedule, name: str, number: int, order: int, load: float, started: str, worked: Worked) -> NewRun:
    """The run of a process, to be written."""
    one, end = schedule.works[name], worked.end
    per_s: dict[int, float] = {reads.depth: reads.per_s for reads in schedule.disk}
    used = {field: value for field, value in msgspec.structs.asdict(end).items() if field in STORE_PROCESS.names}
    process = {
        **used,
        "execution": 1,
        "place": order,
        "load": load,
        "wall_ns": worked.wall_ns,
        "operations": one.batches * OF_A_BATCH,
        "reads_per_s_at_1": per_s.get(1),
        "reads_per_s_at_32": per_s.get(32),
    }
    batches = [pa.array(range(1, one.batches + 1), pa.int64()), *(pa.array(column) for column in worked.times.T)]
    return NewRun(
        folder=schedule.request.out / _run_name(name, number),
        head=msgspec.structs.replace(schedule.head, started=started),
        bench=BENCH,
        target=Target(name, version=worked.library, language="Rust"),
        workload=_workload(one),
        parameters={
            **_parameters(schedule.request),
            "store": one.store,
            ROUND: number,
            TARGET_PLACE: list(schedule.works).index(name),
        },
        tables={
            "batches": pa.table(batches, schema=BATCHES),
            "execution": pa.Table.from_pylist([process], schema=STORE_PROCESS),
        },
        sources=[],
        versions={"slotmark-stores": worked.version},
        warnings=list(schedule.warnings),
    )
