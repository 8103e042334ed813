"""A session of clients: every target in every setting, each time in a fresh process, whose proof is checked."""

from collections.abc import Callable, Mapping, Sequence

import msgspec

from slotmark.benches.chainsync.invocation import Invocation, Job, invoke
from slotmark.benches.chainsync.proof import Proof, first_difference
from slotmark.benches.chainsync.server import Server
from slotmark.benches.chainsync.setting import Mode, Setting
from slotmark.benches.chainsync.targets import FLOOR, Program
from slotmark.errors import ProofError, TargetError
from slotmark.measure import session
from slotmark.measure.session import OnStep, Turns
from slotmark.numbers import fixed


class Case(msgspec.Struct, frozen=True):
    """A target, by its name, in a setting."""

    program: str
    setting: Setting

    def __str__(self) -> str:
        """Its words in progress."""
        return f"{self.program}, {self.setting}"


Measured = session.Measured[Case, Invocation]
Failure = session.Failure[Case]
Round = session.Round[Case, Invocation]


class Schedule(msgspec.Struct, frozen=True, kw_only=True):
    """The measurements of a session.

    Attributes:
        programs: The targets, in the order in which they were named.
        floor: Our client that pipelines and discards: the limit that every figure is shown against.
        settings: Modes and depths; a target is measured in those that it can do.
        rounds: Counted rounds; one more, the warm-up, comes first and isn't counted.
        seed: Seed of the order within each round.
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
    def cases(self) -> dict[Case, Program]:
        """Cases of each round, with their programs: the floor of every setting, and each target in all that it can do."""
        floors = {setting.floor for setting in self.settings}
        if FLOOR in (program.name for program in self.programs):
            floors |= {setting for setting in self.settings if self.floor.can(setting)}
        return {Case(FLOOR, setting): self.floor for setting in sorted(floors)} | {
            Case(program.name, setting): program
            for program in self.programs
            for setting in self.settings
            if program.name != FLOOR and program.can(setting)
        }

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


def conduct(
    schedule: Schedule,
    server: Server,
    proofs: Mapping[Mode, Proof],
    on_step: OnStep,
    before: Sequence[Round] = (),
    keep: Callable[[Round], None] = lambda _: None,
) -> tuple[list[Measured], list[Failure]]:
    """Carries the schedule out: see :func:`slotmark.measure.session.conduct`.

    Args:
        schedule: The schedule to carry out.
        server: A running server.
        proofs: For each mode that has one, the digest that every target must reach.
        on_step: Called at each step.
        before: Rounds that were finished before.
        keep: Called with each round that is finished.

    Raises:
        TargetError: The floor failed, or every target in every setting; ProofError where it was for a digest that isn't the one
            expected, with the first block that differs.
        ServerError: The server ended.
    """
    programs = schedule.cases

    def measure(case: Case, _round: int, _order: int) -> Invocation:
        try:
            invocation = invoke(programs[case], schedule.job(case.setting, server), server.cpu_ns, server.check)
            check_proof(schedule, server, programs[case], case.setting, invocation, proofs)
        except TargetError:
            server.check()
            raise
        return invocation

    turns = Turns(
        cases=list(programs),
        measure=measure,
        rounds=schedule.rounds,
        seed=schedule.seed,
        warm_up=True,
        needed=lambda case: case.program == FLOOR,
        figure=lambda ran: f" {fixed(ran.done.blocks / ran.elapsed_ns * 1e9)} blocks/s",
    )
    return session.conduct(turns, on_step, before, keep)


def check_proof(
    schedule: Schedule,
    server: Server,
    program: Program,
    setting: Setting,
    invocation: Invocation,
    proofs: Mapping[Mode, Proof],
) -> None:
    """Holds an invocation's digest against the proof of its mode; ProofError names the first block that differs."""
    if program.name == FLOOR or setting.mode not in proofs:
        return
    proof = proofs[setting.mode]
    if invocation.done.digest == proof.digest:
        done = invocation.done
        said = [f"{done.bytes:,} bytes"] if None not in (proof.bytes, done.bytes) and done.bytes != proof.bytes else []
        is_, says = proof.last, (done.slot, done.hash)
        if any(None not in pair and pair[0] != pair[1] for pair in zip(is_, says, strict=True)):
            said.append(f"block {says[0]}.{says[1]} as the last")
        if said:
            of_blocks = "" if proof.bytes is None else f"{proof.bytes:,} bytes, and "
            raise ProofError(
                f"{program.name} ({setting}): it says {' and '.join(said)}, but the blocks have {of_blocks}{is_[0]}.{is_[1]} as the last. "
                "No figure of it can be trusted; none was kept."
            )
        return
    try:
        again = invoke(program, schedule.job(setting, server, progress_every=1), server.cpu_ns, server.check)
        where = first_difference(proof, again.progress)
    except TargetError as error:
        where = f"which block is the first that differs isn't known, since it failed with a progress record for each ({error})"
    raise ProofError(
        f"{program.name} ({setting}): its digest is not that of the blocks it was given: {where}. "
        "No figure of it can be trusted; none was kept."
    )


def reference_proofs(
    schedule: Schedule, server: Server, reference: Program, modes: Sequence[Mode]
) -> dict[Mode, Proof]:
    """Proofs where the chain is another node: the digests of our own client over the same blocks.

    It checks every hash on the way, so that bytes which are wrong for every client in the same way are found: that each
    header names the one before it, and that each body is that of its header, in every mode that receives both.

    Raises:
        TargetError: The reference can't do one of the modes, failed, or found a block that doesn't have its hash.
    """

    def proof(setting: Setting) -> Proof:
        done = invoke(reference, schedule.job(setting, server, check=True), server.cpu_ns, server.check).done

        def trail() -> list[tuple[str, str]]:
            records = invoke(
                reference, schedule.job(setting, server, progress_every=1), server.cpu_ns, server.check
            ).progress
            return [(record.digest or "", f"number {record.blocks} after {schedule.start}") for record in records]

        return Proof(done.digest or "", trail, f"what {reference.name} makes of it", (done.slot, done.hash), done.bytes)

    for mode in modes:
        if not reference.can(Setting(mode, 1)):
            raise TargetError(
                f"{reference.name} can't do mode {mode}, so nothing can be proved in it. Leave the mode out."
            )
    return {mode: proof(Setting(mode, 1)) for mode in modes}
