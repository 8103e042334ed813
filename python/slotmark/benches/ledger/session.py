"""A session: every target once a round, each time in a fresh process, in an order drawn at random."""

import os
import random
from collections.abc import Callable, Sequence
from pathlib import Path

import msgspec
import numpy as np
import pyarrow.parquet as pq

from slotmark.benches.ledger.invocation import invoke
from slotmark.benches.ledger.memory_limit import Limited
from slotmark.benches.ledger.recorded import Recorded, from_slot
from slotmark.benches.ledger.runs import Process, blocks_table, process_of
from slotmark.benches.ledger.targets import Program
from slotmark.errors import RunError, TargetError


class Blocks(msgspec.Struct, frozen=True):
    """The blocks that every process has to replay.

    Attributes:
        slots: Rising; shape (n,).
        hashes: In their order.
    """

    slots: np.ndarray
    hashes: list[str]

    def behind(self, count: int) -> "Blocks":
        """Those behind so many first ones."""
        return Blocks(self.slots[count:], self.hashes[count:])


class Plan(msgspec.Struct, frozen=True, kw_only=True):
    """What a session does.

    Attributes:
        programs: The targets, in the order in which they were named.
        chain: The chain's folder.
        blocks: What is kept of each process.
        skip: How many blocks before those each process replays too.
        rounds: How many.
        seed: Of the order within each round.
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


class Measured(msgspec.Struct, frozen=True, kw_only=True):
    """One process in its place in the session.

    Attributes:
        program: The target's name.
        round: From 1.
        process: What it was, but for its blocks.
    """

    program: str
    round: int
    process: Process

    @property
    def part(self) -> str:
        """The name of the file with its blocks, in the plan's folder of parts."""
        return f"{self.process.place}.parquet"


class Round(msgspec.Struct, frozen=True, kw_only=True):
    """A round that is finished.

    Attributes:
        number: From 1.
        part: Of the session: 0, and one more after each time that it was cut and resumed.
        measured: What did not fail in it, in order.
        failures: All so far: target, and what went wrong.
    """

    number: int
    part: int
    measured: list[Measured]
    failures: list[tuple[str, str]]


class Failure(msgspec.Struct, frozen=True):
    """A target that failed: nothing of it is kept, and it isn't tried again."""

    program: str
    error: TargetError


OnStep = Callable[[int, int, str], None]
"""Told before and after each process: how many are done, of how many, and which one it is in words."""


def conduct(
    plan: Plan, on_step: OnStep, before: Sequence[Round], keep: Callable[[Round], None]
) -> tuple[list[Measured], list[Failure]]:
    """Carries the plan out; a target that fails is left out from then on, and the others go on.

    Args:
        plan: What to do.
        on_step: Told of each step.
        before: Rounds that this session finished before it was cut: they aren't measured again.
        keep: Called with each round that is finished.

    Returns:
        Every process of targets that never failed, in the order in which they ran; and the failures.

    Raises:
        TargetError: Every target failed: the last one's reason.
        RunError: There is no room for what was measured.
    """
    shuffler = random.Random(plan.seed)
    size, total = len(plan.programs), len(plan.programs) * plan.rounds
    failed = {name: TargetError(why) for one in before[-1:] for name, why in one.failures}
    rounds = list(before)
    for number in range(1, plan.rounds + 1):
        order = list(plan.programs)
        shuffler.shuffle(order)
        if number <= len(before):
            continue
        measured: list[Measured] = []
        for place, program in enumerate(order, (number - 1) * size):
            label = f"round {number} of {plan.rounds}: {program.name}"
            on_step(place, total, label)
            if program.name in failed:
                continue
            try:
                measured.append(_measure(plan, program, number, place))
            except TargetError as error:
                failed[program.name] = error
                if len(failed) == size:
                    raise
            on_step(place + 1, total, label)
        failures = [(name, str(error)) for name, error in failed.items()]
        part = before[-1].part + 1 if before else 0
        rounds.append(Round(number=number, part=part, measured=measured, failures=failures))
        keep(rounds[-1])
    kept = [one for done in rounds for one in done.measured if one.program not in failed]
    return kept, [Failure(name, error) for name, error in failed.items()]


def _measure(plan: Plan, program: Program, number: int, place: int) -> Measured:
    load = os.getloadavg()[0]
    blocks = plan.skip + plan.blocks.slots.size
    ran = invoke(
        program, plan.chain, blocks, plan.scratch, plan.timeout_s, limited=plan.limited, prepared=plan.prepared
    )
    recorded = from_slot(ran.source.recorded, int(plan.blocks.slots[0]))
    _refuse_other_blocks(program.name, recorded, plan.blocks)
    process = process_of(recorded)
    facts = process.facts
    if facts.peak_bytes is None:
        facts = msgspec.structs.replace(facts, peak_bytes=ran.peak_bytes or None)
    process = msgspec.structs.replace(process, file="", facts=facts, place=place, load=load, wall_ns=ran.wall_ns)
    measured = Measured(program=program.name, round=number, process=process)
    path = plan.parts / measured.part
    try:
        plan.parts.mkdir(parents=True, exist_ok=True)
        pq.write_table(blocks_table(recorded, number), path, compression="zstd")
    except OSError as error:
        raise RunError(f"{path}: can't be written ({error}). Make room, and go on with --resume.") from error
    return measured


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
