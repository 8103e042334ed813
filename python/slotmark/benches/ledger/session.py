"""A session of replays: every target once a round, each time in a fresh process, over the same blocks."""

from collections.abc import Callable, Sequence
from pathlib import Path

import msgspec
import numpy as np
import pyarrow.parquet as pq

from slotmark.benches.ledger.invocation import invoke
from slotmark.benches.ledger.recordings.recorded import Recorded, from_slot
from slotmark.benches.ledger.runs import Process, blocks_table, process_of
from slotmark.benches.ledger.targets import Program
from slotmark.errors import RunError, TargetError, unwritten
from slotmark.measure import session
from slotmark.measure.limits import Limited
from slotmark.measure.session import OnStep, Turns

Measured = session.Measured[str, Process]
Failure = session.Failure[str]
Round = session.Round[str, Process]


class Blocks(msgspec.Struct, frozen=True):
    """The blocks that every process has to replay.

    Attributes:
        slots: Rising; shape (n,).
        hashes: In their order.
    """

    slots: np.ndarray
    hashes: list[str]

    def behind(self, count: int) -> "Blocks":
        """Returns the blocks behind the first ones."""
        return Blocks(self.slots[count:], self.hashes[count:])


class Schedule(msgspec.Struct, frozen=True, kw_only=True):
    """The measurements of a session.

    Attributes:
        programs: The targets, in the order in which they were named.
        chain: The chain's folder.
        blocks: What is kept of each process.
        skip: How many blocks before those each process replays too.
        rounds: Number of rounds.
        seed: Seed of the order within each round.
        timeout_s: Of one process.
        limited: How each is started.
        prepared: What our engine takes in the place of a genesis; None where there is none.
        scratch: A folder for what processes need while they run.
        parts: A folder for the blocks of finished processes.
    """

    programs: Sequence[Program]
    chain: Path
    blocks: Blocks
    skip: int
    rounds: int
    seed: int
    timeout_s: float
    limited: Limited
    prepared: Path | None
    scratch: Path
    parts: Path

    def part(self, order: int) -> Path:
        """The file with the blocks of the process at this place in the order."""
        return self.parts / part_name(order)


def part_name(order: int) -> str:
    """The name of the file with the blocks of the process at this place in the order."""
    return f"{order}.parquet"


def conduct(
    schedule: Schedule, on_step: OnStep, before: Sequence[Round], keep: Callable[[Round], None]
) -> tuple[list[Measured], list[Failure]]:
    """Carries the schedule out: see :func:`slotmark.measure.session.conduct`. RunError where there is no room for what was measured."""
    programs = {program.name: program for program in schedule.programs}

    def measure(name: str, number: int, order: int) -> Process:
        return _measure(schedule, programs[name], number, order)

    turns = Turns(cases=list(programs), measure=measure, rounds=schedule.rounds, seed=schedule.seed)
    return session.conduct(turns, on_step, before, keep)


def _measure(schedule: Schedule, program: Program, number: int, order: int) -> Process:
    blocks = schedule.skip + schedule.blocks.slots.size
    ran = invoke(
        program,
        schedule.chain,
        blocks,
        schedule.scratch,
        schedule.timeout_s,
        limited=schedule.limited,
        prepared=schedule.prepared,
    )
    recorded = from_slot(ran.source.recorded, int(schedule.blocks.slots[0]))
    _refuse_other_blocks(program.name, recorded, schedule.blocks)
    process = process_of(recorded)
    facts = process.facts
    if facts.peak_bytes is None:
        facts = msgspec.structs.replace(facts, peak_bytes=ran.peak_bytes or None)
    path = schedule.part(order)
    try:
        schedule.parts.mkdir(parents=True, exist_ok=True)
        pq.write_table(blocks_table(recorded, number), path, compression="zstd")
    except OSError as error:
        raise RunError(unwritten(path, error, "", "continue with --resume")) from error
    return msgspec.structs.replace(process, file="", facts=facts, wall_ns=ran.wall_ns)


def _refuse_other_blocks(name: str, recorded: Recorded, blocks: Blocks) -> None:
    """Raises TargetError where a process didn't replay the blocks that it was to."""
    slots = recorded.columns["slot"]
    least = min(slots.size, blocks.slots.size)
    same = slots[:least] == blocks.slots[:least]
    if recorded.hashes is not None:
        same = same & np.array([mine == its for mine, its in zip(recorded.hashes, blocks.hashes, strict=False)])
    if not same.all():
        place = int(np.flatnonzero(~same)[0])
        theirs = f"slot {slots[place]}" + (f", hash {recorded.hashes[place][:64]}" if recorded.hashes else "")
        raise TargetError(
            f"{name}: its block {place + 1} is that of {theirs}, the chain's is that of slot {blocks.slots[place]}, hash "
            f"{blocks.hashes[place]}. Every target has to replay the same blocks, from the chain's first one on."
        )
    if slots.size != blocks.slots.size:
        raise TargetError(
            f"{name}: it replayed {slots.size:,} blocks, {blocks.slots.size:,} were to be. Every target has to replay the same blocks."
        )
