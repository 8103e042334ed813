"""A session: cases are measured in turns, round by round, in an order drawn at random; one that was cut can be resumed.

    <out>/unfinished-session.jsonl

The first line is what the session is; each other line is a round with all that it measured. A round is kept once it is whole and
counts: a session that is cut in its warm-up leaves nothing. The file goes when the run folders are written.
"""

import fcntl
import os
import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, Generic, Protocol, TypeVar

import msgspec

from slotmark import warnings
from slotmark.errors import ArgumentError, RunError, TargetError, unwritten
from slotmark.run import MachineFacts, SourceFile, machine_warnings, utc_now
from slotmark.warnings import Warning
from slotmark.words import counted

FILE = "unfinished-session.jsonl"
"""Its name below the folder that ``--out`` names."""

Case = TypeVar("Case")
"""The type of what a round measures once, as a target or a target in a setting: hashable, and in words by ``str``."""

Result = TypeVar("Result")
"""The type of what is measured of a case."""


class Measured(msgspec.Struct, Generic[Case, Result], frozen=True, kw_only=True):
    """A case that was measured, in its place in the session.

    Attributes:
        order: From 0, over all rounds.
        round: From 1; 0 is the warm-up.
        case: The case.
        at: Wall clock before, ISO 8601 UTC.
        load: Load average before.
        result: What was measured.
    """

    order: int
    round: int
    case: Case
    at: str
    load: float
    result: Result


class Failure(msgspec.Struct, Generic[Case], frozen=True):
    """A case that failed: nothing of it is kept, and it isn't tried again."""

    case: Case
    error: TargetError


class Round(msgspec.Struct, Generic[Case, Result], frozen=True, kw_only=True):
    """A round that is finished.

    Attributes:
        number: From 1; 0 is the warm-up.
        part: Part of the session: 0, and one more after each time that it was cut and resumed.
        measured: Each case that left a result, in order.
        failures: Case, and what went wrong: all so far, where one that failed is not tried again, else those of this round.
    """

    number: int
    part: int
    measured: list[Measured[Case, Result]]
    failures: list[tuple[Case, str]]


OnStep = Callable[[int, int, str], None]
"""Called before and after each measurement: how many are done, of how many, and which one it is in words."""


class Turns(msgspec.Struct, Generic[Case, Result], frozen=True, kw_only=True):
    """The measurements of a session.

    Attributes:
        cases: What each round measures once, before it is shuffled.
        measure: Measures a case, given the round's number and the place in the order; TargetError where it fails.
        rounds: How many count.
        seed: Seed of the order within each round.
        warm_up: Whether a round that doesn't count comes first.
        needed: Whether the session is of no use without a case.
        figure: A result in words, for progress.
    """

    cases: Sequence[Case]
    measure: Callable[[Case, int, int], Result]
    rounds: int
    seed: int
    warm_up: bool = False
    needed: Callable[[Case], bool] = lambda _: False
    figure: Callable[[Result], str] = lambda _: ""


def conduct(
    turns: Turns[Case, Result],
    on_step: OnStep,
    before: Sequence[Round[Case, Result]] = (),
    keep: Callable[[Round[Case, Result]], None] = lambda _: None,
) -> tuple[list[Measured[Case, Result]], list[Failure[Case]]]:
    """Measures all cases in all rounds; one that fails is left out from then on, and the others go on.

    Args:
        turns: What to measure.
        on_step: Called at each step.
        before: Rounds that this session finished before it was cut: they aren't measured again. Where there is a warm-up, the rest
            begins with one more, of which nothing is kept.
        keep: Called with each round that is finished.

    Returns:
        Every measurement of cases that never failed, in order; and the failures.

    Raises:
        TargetError: A case failed that is needed, or all others have: the last one's reason.
    """
    shuffler = random.Random(turns.seed)
    first = 0 if turns.warm_up else 1
    size, total = len(turns.cases), len(turns.cases) * (turns.rounds + 1 - first)
    failed = {case: TargetError(why) for one in before[-1:] for case, why in one.failures}

    def measure(number: int, where: str, cases: Sequence[Case]) -> list[Measured[Case, Result]]:
        measured: list[Measured[Case, Result]] = []
        for order, case in enumerate(cases, (number - first) * size):
            if case in failed:
                continue
            label = f"{where}: {case}"
            on_step(order, total, label)
            at, load = utc_now(), os.getloadavg()[0]
            try:
                result = turns.measure(case, number, order)
            except TargetError as error:
                failed[case] = error
                if turns.needed(case) or all(one in failed or turns.needed(one) for one in cases):
                    raise
                continue
            measured.append(Measured(order=order, round=number, case=case, at=at, load=load, result=result))
            on_step(order + 1, total, f"{label}{turns.figure(result)}")
        return measured

    part = before[-1].part + 1 if before else 0
    rounds = list(before)
    for number in range(first, turns.rounds + 1):
        cases = list(turns.cases)
        shuffler.shuffle(cases)
        if number - first < len(before):
            continue
        if turns.warm_up and before and number - first == len(before):
            measure(number, "warm-up again", turns.cases)
        measured = measure(number, f"round {number} of {turns.rounds}" if number else "warm-up", cases)
        so_far = [(case, str(error)) for case, error in failed.items()]
        rounds.append(Round(number=number, part=part, measured=measured, failures=so_far))
        keep(rounds[-1])
    kept = [one for done in rounds for one in done.measured if one.case not in failed]
    return kept, [Failure(case, error) for case, error in failed.items()]


class Numbered(Protocol):
    """A round of any bench, as a struct; see :class:`Round`."""

    @property
    def number(self) -> int:
        """Its place, from 1; 0 is a warm-up."""
        ...

    @property
    def part(self) -> int:
        """The part of the session that it is of."""
        ...


R = TypeVar("R", bound=Numbered)


class Head(msgspec.Struct, frozen=True, kw_only=True):
    """The description of a session.

    Attributes:
        session: Its name.
        machine: Facts about the machine before the first measurement.
        started: ISO 8601, UTC.
        asked: What may not change when it is resumed: parameters, targets, chain and machine, in words.
    """

    session: str
    machine: MachineFacts
    started: str
    asked: Mapping[str, str]


def new_session(machine: MachineFacts, started: str, asked: Mapping[str, str]) -> Head:
    """A session with a name that no other has; the machine is a part of what may not change."""
    moment = started.replace(":", "").replace("-", "").partition(".")[0]
    return Head(
        session=f"{moment}-{random.SystemRandom().getrandbits(32):08x}",
        machine=machine,
        started=started,
        asked={
            **asked,
            "the machine": machine_in_words(machine),
        },
    )


def machine_in_words(machine: MachineFacts) -> str:
    """A machine by what another one doesn't share."""
    return f"{machine.hostname_hash}, {machine.cores} cores of {machine.cpu}, {machine.kernel}"


def asked_for(
    parameters: Mapping[str, Any], targets: Sequence[tuple[str, str]], sources: Mapping[str, Sequence[SourceFile]]
) -> dict[str, str]:
    """All that must be the same for a session that is resumed, in words.

    Args:
        parameters: By name.
        targets: Name and command of each, as of :func:`slotmark.measure.content.in_words`.
        sources: Files that targets work on, by what they are.
    """
    return {
        **{f"parameter '{name}'": str(value) for name, value in parameters.items()},
        "the list of targets": ", ".join(name for name, _ in targets),
        **{f"target {name}": command for name, command in targets},
        **{f"{what} {file.path}": file.identity for what, files in sources.items() for file in files},
    }


class Unfinished(Generic[R]):
    """The file of a session that is going on.

    Attributes:
        path: Path of the file.
        head: What the session is.
        rounds: Those that were finished before; empty for a new session.
        done: All that are finished.
        part: The part of the session that this is: 0, and one more than that of the last round before.
    """

    def __init__(self, path: Path, head: Head, rounds: Sequence[R]) -> None:
        self.path = path
        self.head = head
        self.rounds = list(rounds)
        self.done = list(rounds)
        self.part = rounds[-1].part + 1 if rounds else 0
        self._waiting = [] if rounds else [msgspec.json.encode(head)]

    def keep(self, one: R) -> None:
        """Writes a round down, behind what waits. RunError where it can't be written."""
        self.done.append(one)
        self._waiting.append(msgspec.json.encode(one))
        if one.number == 0:
            return
        before = self.path.stat().st_size if self.path.exists() else None
        try:
            with self.path.open("ab") as file:
                file.write(b"".join(line + b"\n" for line in self._waiting))
                file.flush()
                os.fsync(file.fileno())
        except OSError as error:
            self.done.pop()
            with suppress(OSError):  # what there was room for is no whole line
                self.path.unlink() if before is None else os.truncate(self.path, before)
            raise RunError(unwritten(self.path, error, "", "continue with --resume")) from error
        self._waiting.clear()

    def remove(self) -> None:
        """Removes the file: the runs are whole."""
        self.path.unlink(missing_ok=True)

    def warnings(self) -> list[Warning]:
        """Warnings about how the session went: other work was running before it, or it was cut and resumed."""
        cut_after = [
            one.number - 1 for one, last in zip(self.done[1:], self.done, strict=False) if one.part != last.part
        ]
        return [
            *machine_warnings(self.head.machine),
            *([warnings.resumed(cut_after)] if cut_after else []),
        ]


@contextmanager
def open_session(
    out: Path,
    head: Head,
    kind: type[R],
    *,
    rounds: int | None,
    resume: bool,
    on_remark: Callable[[str], None],
    check: Callable[["Unfinished[R]"], None] = lambda _: None,
) -> Iterator[Unfinished[R]]:
    """Begins a session, or resumes the one that was cut; a remark names what is kept of one that is cut here.

    Args:
        out: The folder that it is kept below.
        head: What was asked for.
        kind: Kind of its rounds.
        rounds: How many count; None where that isn't known before.
        resume: Whether to go on with the session that was cut.
        on_remark: Called with what a person should know.
        check: Raises RunError where something is missing that its finished rounds need.

    Raises:
        ArgumentError: There is none to resume, or something was asked for that it isn't.
        RunError: There is one, and it isn't to be resumed; or its file is damaged, or what belongs to it; or another process measures there.
    """
    of = "" if rounds is None else f" of {rounds}"
    if resume:
        _refuse_nothing_to_resume(out)
    with _alone(out):
        kept: Unfinished[R] = _resume(out, head, kind) if resume else Unfinished(_new(out), head, [])
        check(kept)
        if kept.rounds:
            on_remark(f"resumed after round {kept.rounds[-1].number}{of}")
        try:
            yield kept
        except BaseException:
            finished = sum(one.number > 0 for one in kept.done)
            if finished and kept.path.exists():
                count = counted(finished, "round") if rounds is None else f"{finished}{of} rounds are"
                on_remark(f"{count} finished and kept: the same command with --resume continues")
            raise


@contextmanager
def _alone(out: Path) -> Iterator[None]:
    """Keeps other sessions out of a folder; one that this made and that is still empty is removed. RunError where there is another.

    The lock is the system's, so it ends with this process, however it ends.
    """
    made = not out.exists()
    try:
        out.mkdir(parents=True, exist_ok=True)
        held = os.open(out, os.O_RDONLY | os.O_DIRECTORY)
    except OSError as error:
        raise RunError(f"{out}: can't make this folder ({error.strerror}). Choose another place with -o.") from error
    try:
        with suppress(OSError):  # a file system without locks
            try:
                fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                raise RunError(
                    f"{out}: another session is going on in this folder. Wait for its end, or choose another -o."
                ) from None
        yield
    finally:
        os.close(held)
        if made:
            with suppress(OSError):  # there is something in it
                out.rmdir()


def _new(out: Path) -> Path:
    path = out / FILE
    if path.exists():
        raise RunError(
            f"{path}: the finished rounds of a session that was cut. Go on with --resume, or remove it, or choose another -o."
        )
    return path


def _refuse_nothing_to_resume(out: Path) -> None:
    if not (out / FILE).is_file():
        raise ArgumentError(f"--resume: {out} holds no session that was cut. Leave --resume out.")


def _resume(out: Path, head: Head, kind: type[R]) -> Unfinished[R]:
    path = out / FILE
    whole = path.read_bytes()
    lines = whole[: whole.rfind(b"\n") + 1].splitlines()  # what is behind the last line end was being written
    try:
        before = msgspec.json.decode(lines[0], type=Head)
        rounds = [msgspec.json.decode(line, type=kind) for line in lines[1:]]
    except (IndexError, msgspec.DecodeError, UnicodeDecodeError) as error:
        raise RunError(f"{path}: damaged ({error}). Remove it and begin again.") from error
    first = rounds[0].number if rounds else 0
    if [one.number for one in rounds] != list(range(first, first + len(rounds))) or first > 1:
        raise RunError(f"{path}: damaged (rounds are missing). Remove it and begin again.")
    differing = [
        f"{what} was {before.asked.get(what, 'not there')}, is {head.asked.get(what, 'not there')}"
        for what in dict.fromkeys([*before.asked, *head.asked])
        if before.asked.get(what) != head.asked.get(what)
    ]
    if differing:
        raise ArgumentError(
            f"--resume: not the session that was cut: {'; '.join(differing)}. Ask for the same, or begin again in another -o."
        )
    os.truncate(path, whole.rfind(b"\n") + 1)
    return Unfinished(path, before, rounds)
