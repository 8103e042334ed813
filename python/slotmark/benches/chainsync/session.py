"""A session: every target in every setting, round by round, interleaved in an order drawn at random.

The conductor of a measurement. It starts one process after the other, checks every proof, and keeps all that it saw.
"""

import os
import random
from collections.abc import Callable, Mapping, Sequence

import msgspec

from slotmark.benches.chainsync.invocation import Invocation, Job, invoke
from slotmark.benches.chainsync.proof import Proof, first_difference
from slotmark.benches.chainsync.server import Server
from slotmark.benches.chainsync.setting import Mode, Setting
from slotmark.benches.chainsync.targets import FLOOR, Program
from slotmark.errors import ProofError, TargetError
from slotmark.run import utc_now


class Plan(msgspec.Struct, frozen=True, kw_only=True):
    """What a session does.

    Attributes:
        programs: The targets, in the order in which they were named.
        floor: Our client that pipelines and discards: the limit that every figure is shown against.
        settings: Modes and depths; a target is measured in those that it can do.
        rounds: Counted rounds; one more, the warm-up, comes first and isn't counted.
        seed: Of the order within each round.
        magic: The network's.
        start: The point before the window's first block.
        blocks: The window's length.
        progress_every: Blocks between two progress records.
        client_cores: Where targets may run; empty for anywhere.
        timeout_s: Of one invocation.
    """

    programs: Sequence[Program]
    floor: Program
    settings: Sequence[Setting]
    rounds: int
    seed: int
    magic: int
    start: str
    blocks: int
    progress_every: int
    client_cores: frozenset[int]
    timeout_s: float

    @property
    def entries(self) -> list[tuple[Program, Setting]]:
        """What one round does, before it is shuffled: the floor of every setting, and each target in all that it can do."""
        floors = {setting.floor for setting in self.settings}
        if FLOOR in (program.name for program in self.programs):
            floors |= {setting for setting in self.settings if self.floor.can(setting)}
        return [
            *((self.floor, setting) for setting in sorted(floors)),
            *(
                (program, setting)
                for program in self.programs
                for setting in self.settings
                if program.name != FLOOR and program.can(setting)
            ),
        ]

    def job(self, setting: Setting, server: Server, progress_every: int | None = None, check: bool = False) -> Job:
        """The job of one invocation."""
        return Job(
            setting=setting,
            address=server.address(setting),
            magic=self.magic,
            start=self.start,
            blocks=self.blocks,
            progress_every=progress_every or self.progress_every,
            cores=self.client_cores,
            timeout_s=self.timeout_s,
            check=check,
        )


class Measured(msgspec.Struct, frozen=True, kw_only=True):
    """One invocation in its place in the session.

    Attributes:
        order: From 0, warm-up included.
        round: From 1; 0 is the warm-up.
        program: The target's name.
        setting: What it did.
        at: Wall clock at its start, ISO 8601 UTC.
        load: Load average at its start.
        invocation: What it did and used.
    """

    order: int
    round: int
    program: str
    setting: Setting
    at: str
    load: float
    invocation: Invocation


class Failure(msgspec.Struct, frozen=True, kw_only=True):
    """A target that failed in a setting: nothing of it in that setting is kept, and it isn't tried again.

    Attributes:
        program: The target's name.
        setting: What it was doing.
        error: What went wrong.
    """

    program: str
    setting: Setting
    error: TargetError


class Round(msgspec.Struct, frozen=True, kw_only=True):
    """A round that is finished.

    Attributes:
        number: From 1; 0 is the warm-up.
        part: Of the session: 0, and one more after each time that it was cut and resumed.
        measured: What did not fail in it, in order.
        failures: All so far: target, setting and what went wrong.
    """

    number: int
    part: int
    measured: list[Measured]
    failures: list[tuple[str, Setting, str]]


OnStep = Callable[[int, int, str, Measured | None], None]
"""Told before (None) and after each invocation: how many are done, of how many, and which one it is in words."""


def conduct(
    plan: Plan,
    server: Server,
    proofs: Mapping[Mode, Proof],
    on_step: OnStep,
    before: Sequence[Round] = (),
    keep: Callable[[Round], None] = lambda _: None,
) -> tuple[list[Measured], list[Failure]]:
    """Carries the plan out; a target that fails in a setting is left out of it from then on, and the others go on.

    Args:
        plan: What to do.
        server: A running server.
        proofs: For each mode that has one, the digest that every target must reach.
        on_step: Told of each step.
        before: Rounds that this session finished before it was cut: they aren't measured again. The rest begins with a warm-up
            round more, of which nothing is kept.
        keep: Called with each round that is finished.

    Returns:
        Every invocation of those that never failed, in the order in which they ran; and the failures.

    Raises:
        TargetError: The floor failed, or every target in every setting; ProofError where it was for a digest that isn't the one
            expected, with the first block that differs.
        ServerError: The server ended.
    """
    shuffler = random.Random(plan.seed)
    size, total = len(plan.entries), len(plan.entries) * (plan.rounds + 1)
    failed = {(name, setting): TargetError(why) for one in before[-1:] for name, setting, why in one.failures}

    def measure(number: int, where: str, first: int, entries: Sequence[tuple[Program, Setting]]) -> list[Measured]:
        measured: list[Measured] = []
        for order, (program, setting) in enumerate(entries, first):
            label = f"{where}: {program.name}, {setting}"
            if (program.name, setting) in failed:
                continue
            on_step(order, total, label, None)
            try:
                result = Measured(
                    order=order,
                    round=number,
                    program=program.name,
                    setting=setting,
                    at=utc_now(),
                    load=os.getloadavg()[0],
                    invocation=invoke(program, plan.job(setting, server), server.cpu_ns, server.check),
                )
                check_proof(plan, server, program, setting, result.invocation, proofs)
            except TargetError as error:
                server.check()
                failed[program.name, setting] = error
                left = [
                    (one.name, what) for one, what in entries if one.name != FLOOR and (one.name, what) not in failed
                ]
                if program.name == FLOOR or not left:
                    raise
                continue
            measured.append(result)
            on_step(order + 1, total, label, result)
        return measured

    part = before[-1].part + 1 if before else 0
    rounds = list(before)
    for number in range(plan.rounds + 1):
        entries = plan.entries
        shuffler.shuffle(entries)
        if number < len(before):
            continue
        if before and number == len(before):
            measure(0, "warm-up again", number * size, plan.entries)
        where = f"round {number} of {plan.rounds}" if number else "warm-up"
        measured = measure(number, where, number * size, entries)
        so_far = [(name, setting, str(error)) for (name, setting), error in failed.items()]
        rounds.append(Round(number=number, part=part, measured=measured, failures=so_far))
        keep(rounds[-1])
    kept = [one for done in rounds for one in done.measured if (one.program, one.setting) not in failed]
    return kept, [Failure(program=name, setting=setting, error=error) for (name, setting), error in failed.items()]


def check_proof(
    plan: Plan, server: Server, program: Program, setting: Setting, invocation: Invocation, proofs: Mapping[Mode, Proof]
) -> None:
    """Holds an invocation's digest against the proof of its mode; ProofError names the first block that differs."""
    if program.name == FLOOR or setting.mode not in proofs:
        return
    proof = proofs[setting.mode]
    if invocation.done.digest == proof.digest:
        return
    again = invoke(program, plan.job(setting, server, progress_every=1), server.cpu_ns, server.check)
    raise ProofError(
        f"{program.name} ({setting}): its digest is not that of the blocks it was given: {first_difference(proof, again.progress)}. "
        "No figure of it can be trusted; none was kept."
    )


def reference_proofs(plan: Plan, server: Server, reference: Program, modes: Sequence[Mode]) -> dict[Mode, Proof]:
    """Proofs where the chain is somebody else's node: what our own client makes of the same blocks.

    It checks every hash on the way, so that bytes which are wrong for every client in the same way are found: that each
    header names the one before it, and that each body is that of its header, in every mode that receives both.

    Raises:
        TargetError: The reference can't do one of the modes, failed, or found a block that isn't what its hash says.
    """

    def proof(setting: Setting) -> Proof:
        digest = invoke(reference, plan.job(setting, server, check=True), server.cpu_ns, server.check).done.digest

        def trail() -> list[tuple[str, str]]:
            records = invoke(
                reference, plan.job(setting, server, progress_every=1), server.cpu_ns, server.check
            ).progress
            return [(record.digest or "", f"number {record.blocks} after {plan.start}") for record in records]

        return Proof(digest or "", trail, f"what {reference.name} makes of it")

    for mode in modes:
        if not reference.can(Setting(mode, 1)):
            raise TargetError(
                f"{reference.name} can't do mode {mode}, so nothing can be proved in it. Leave the mode out."
            )
    return {mode: proof(Setting(mode, 1)) for mode in modes}
