"""The bench as a whole: from what was asked for to run folders, one per target."""

import shutil
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

import msgspec
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from slotmark import _core
from slotmark.benches.ledger.db_analyser import Work, node_config
from slotmark.benches.ledger.engine import genesis_files
from slotmark.benches.ledger.invocation import prepare
from slotmark.benches.ledger.request import Request
from slotmark.benches.ledger.runs import (
    BENCH,
    distinct,
    processes_table,
    recorded_with,
    warnings_of,
    workload_of,
)
from slotmark.benches.ledger.scratch import scratch_below
from slotmark.benches.ledger.session import Blocks, Failure, Measured, Round, Schedule, conduct, part_name
from slotmark.benches.ledger.targets import Program, commands, engines, refuse_same_names
from slotmark.errors import ArgumentError, RunError
from slotmark.measure import session
from slotmark.measure.content import in_words
from slotmark.measure.limits import Limits, limited
from slotmark.measure.manifest import NewRun, refuse_others, write_runs, written
from slotmark.measure.process import refuse_without_linux
from slotmark.measure.session import OnStep
from slotmark.numbers import megabytes
from slotmark.run import Run, SourceFile, Target, machine_facts, utc_now
from slotmark.run.folder import refuse_existing
from slotmark.run.manifest import TARGET_PLACE
from slotmark.warnings import Warning
from slotmark.words import counted

PARTS = "unfinished-session"
"""The folder below ``--out`` with the blocks of processes that are finished, until the run folders are written."""

_ANEW = f"A session can't be resumed without all of its finished processes: remove {session.FILE} and {PARTS}, and begin again."


class Sources(msgspec.Struct, frozen=True, kw_only=True):
    """Files that targets work on.

    Attributes:
        chain: The chain's files.
        genesis: The genesis files that our engine reads; empty without a genesis.
    """

    chain: list[SourceFile]
    genesis: list[SourceFile]

    def of(self, program: Program) -> list[SourceFile]:
        """Files that this target works on: other engines are not given the genesis."""
        return [*self.chain, *(self.genesis if program.ours else [])]


def run(request: Request, on_remark: Callable[[str], None], on_step: OnStep) -> tuple[list[Run], list[Failure]]:
    """Measures, and writes a run folder per target.

    Args:
        request: The request to carry out.
        on_remark: Called with remarks for a person.
        on_step: Called before and after each process.

    Returns:
        The runs, and the targets that failed, of which nothing was kept.

    Raises:
        SlotmarkError: Something that the user can mend; no run folder was written.
    """
    refuse_without_linux("ledger run")
    if request.pause_us and request.targets:
        raise ArgumentError("--pause: only slotmark's engine can be idle before each block. Leave --target out.")
    way = limited(Limits(memory_bytes=request.memory_limit_bytes), "--memory-limit")
    machine, started = machine_facts(), utc_now()
    chain = str(request.chain)
    window = _core.chain_window(chain, "origin", request.blocks)
    blocks = blocks_of(request.chain, window.blocks)
    programs = programs_of(request, blocks)
    refuse_same_names(programs)
    if request.against_itself:
        programs = [
            msgspec.structs.replace(program, name=f"{program.name}-{side}") for program in programs for side in "ab"
        ]
    places = [request.out / program.name for program in programs]
    if not request.resume:
        for place in places:
            refuse_existing(place)
    on_remark(f"{window.blocks:,} blocks, {megabytes(window.bytes)}, {counted(request.rounds, 'round')}")
    sources = Sources(
        chain=[SourceFile(*source) for source in _core.chain_sources(chain, window.start, window.blocks)],
        genesis=genesis_files(request.genesis) if request.genesis else [],
    )
    asked = session.asked_for(
        request.parameters(),
        [(program.name, in_words(program.words)) for program in programs],
        {"the chain's file": sources.chain, "the genesis file": sources.genesis},
    ) | {"the number of blocks": f"{window.blocks:,}"}
    head = session.new_session(machine, started, asked)
    parts = request.out / PARTS
    with (
        session.open_session(
            request.out,
            head,
            Round,
            rounds=request.rounds,
            resume=request.resume,
            on_remark=on_remark,
            check=partial(_refuse_without_parts, parts),
        ) as kept,
        scratch_below(request.out) as scratch,
    ):
        refuse_others(places, kept.head.session)
        schedule = Schedule(
            programs=programs,
            chain=request.chain.resolve(),
            blocks=blocks.behind(request.skip),
            skip=request.skip,
            rounds=request.rounds,
            seed=request.seed,
            timeout_s=request.timeout_s,
            limited=way,
            prepared=_prepared(request, programs, scratch),
            scratch=scratch,
            parts=parts,
        )
        try:
            measured, failures = conduct(schedule, on_step, kept.rounds, kept.keep)
        except BaseException:
            if not kept.path.exists():
                shutil.rmtree(parts, ignore_errors=True)
            raise
        runs = _write_runs(request, schedule, sources, kept.head, measured, kept.warnings())
        shutil.rmtree(parts, ignore_errors=True)
        kept.remove()
    return runs, failures


def blocks_of(chain: Path, count: int | None) -> Blocks:
    """The chain's first blocks, or all where None. ChainError where it can't be read, or has fewer."""
    window = _core.chain_window(str(chain), "origin", count)
    points = [point for _, _, point in _core.digests(str(chain), window.start, window.blocks, "headers", 1)]
    pairs = [point.split(".") for point in points]
    return Blocks(np.array([int(slot) for slot, _ in pairs], dtype=np.int64), [hash for _, hash in pairs])


def programs_of(request: Request, blocks: Blocks) -> list[Program]:
    """The targets that are asked for; blocks are those from the chain's first one on.

    Raises:
        ArgumentError: One makes no sense.
        TargetError: One isn't there.
    """
    work = Work(
        config=node_config(request.config, request.genesis),
        after=int(blocks.slots[request.skip - 1]) if request.skip else None,
        blocks=None if request.blocks is None else request.blocks - request.skip,
        reapply=request.reapply,
    )
    return [
        *engines(
            request.backends,
            genesis=request.genesis,
            blocks=request.blocks,
            flush_every=request.flush_every,
            reapply=request.reapply,
            pause_us=request.pause_us,
        ),
        *commands(request.targets, work),
    ]


def _prepared(request: Request, programs: Sequence[Program], scratch: Path) -> Path | None:
    """The file that our engine takes in place of the genesis, made once for all processes; None where it is not asked for, or can't be made."""
    if request.genesis is None or not any(program.ours for program in programs):
        return None
    return prepare(request.genesis.resolve(), scratch / "prepared", request.timeout_s)


def _refuse_without_parts(parts: Path, kept: session.Unfinished[Round]) -> None:
    """Raises RunError where the blocks of a process that is kept aren't there, neither by themselves nor in a run that is written."""
    missing = {name for done in kept.rounds for name in (one.case for one in done.measured)}
    missing = {name for name in missing if written(parts.parent / name, kept.head.session) is None}
    for one in (one for done in kept.rounds for one in done.measured if one.case in missing):
        path = parts / part_name(one.order)
        try:
            rows = pq.read_metadata(path).num_rows
        except (OSError, pa.ArrowInvalid) as error:
            raise RunError(f"{path}: can't be read ({error}). {_ANEW}") from error
        if rows != one.result.blocks:
            raise RunError(f"{path}: {rows} blocks, expected {one.result.blocks}. {_ANEW}")


def _write_runs(
    request: Request,
    schedule: Schedule,
    sources: Sources,
    head: session.Head,
    measured: Sequence[Measured],
    warnings: Sequence[Warning],
) -> list[Run]:
    """Writes a run folder per target that never failed; either all are there in the end, or none."""
    runs: list[NewRun] = []
    for place, program in enumerate(schedule.programs):
        mine = [one for one in measured if one.case == program.name]
        if not mine:
            continue
        processes = [msgspec.structs.replace(one.result, place=one.order, load=one.load) for one in mine]
        facts = [process.facts for process in processes]
        run = NewRun(
            folder=request.out / program.name,
            head=head,
            bench=BENCH,
            target=Target(
                program.name,
                version=", ".join(distinct(facts, "engine")),
                language="Rust" if program.ours else "",
                commit=", ".join(distinct(facts, "commit")),
                toolchain=", ".join(distinct(facts, "compiler")),
            ),
            workload=workload_of(processes),
            parameters={
                **request.parameters(),
                "processes": len(mine),
                "target command": " ".join(program.words),
                TARGET_PLACE: place,
                **{f"target {name}": value for name, value in recorded_with(processes).items()},
                **request.also_recorded.get(program.name, {}),
            },
            tables={
                # A target that never failed was measured in every round: its n-th process has the rows of round n.
                "blocks": [schedule.part(one.order) for one in mine],
                "processes": processes_table(processes),
            },
            sources=sources.of(program),
            warnings=[*warnings, *warnings_of(program.name, processes, head.machine)],
        )
        runs.append(run)
    return write_runs(runs)
