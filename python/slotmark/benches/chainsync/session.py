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

    def job(self, setting: Setting, server: Server, progress_every: int | None = None) -> Job:
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


OnStep = Callable[[int, int, str, Measured | None], None]
"""Told before (None) and after each invocation: how many are done, of how many, and which one it is in words."""


def conduct(plan: Plan, server: Server, proofs: Mapping[Mode, Proof], on_step: OnStep) -> list[Measured]:
    """Carries the plan out.

    Args:
        plan: What to do.
        server: A running server.
        proofs: For each mode that has one, the digest that every target must reach.
        on_step: Told of each step.

    Returns:
        Every invocation, in the order in which they ran.

    Raises:
        TargetError: A target failed.
        ProofError: A target's digest isn't the one expected; names the first block that differs.
        ServerError: The server ended.
    """
    shuffler = random.Random(plan.seed)
    total = len(plan.entries) * (plan.rounds + 1)
    measured: list[Measured] = []
    for number in range(plan.rounds + 1):
        entries = plan.entries
        shuffler.shuffle(entries)
        for program, setting in entries:
            where = f"round {number} of {plan.rounds}" if number else "warm-up"
            label = f"{where}: {program.name}, {setting}"
            on_step(len(measured), total, label, None)
            result = Measured(
                order=len(measured),
                round=number,
                program=program.name,
                setting=setting,
                at=utc_now(),
                load=os.getloadavg()[0],
                invocation=invoke(program, plan.job(setting, server), server.cpu_ns, server.check),
            )
            check_proof(plan, server, program, setting, result.invocation, proofs)
            measured.append(result)
            on_step(len(measured), total, label, result)
    return measured


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
        "No figure of it can be trusted; nothing was kept."
    )


def reference_proofs(plan: Plan, server: Server, reference: Program, modes: Sequence[Mode]) -> dict[Mode, Proof]:
    """Proofs where the chain is somebody else's node: what our own client makes of the same blocks.

    Raises:
        TargetError: The reference can't do one of the modes, or failed.
    """

    def proof(setting: Setting) -> Proof:
        digest = invoke(reference, plan.job(setting, server), server.cpu_ns, server.check).done.digest

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
