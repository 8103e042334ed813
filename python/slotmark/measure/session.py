"""The rounds of a session that isn't finished, on disk, so that a session which was cut can be resumed.

    <out>/unfinished-session.jsonl

The first line is what the session is; each other line is a round with all that it measured. A round is kept once it is whole and
counts: a session that is cut in its warm-up leaves nothing. The file goes when the run folders are written.
"""

import os
import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Generic, Protocol, TypeVar

import msgspec

from slotmark import warnings
from slotmark.errors import ArgumentError, RunError
from slotmark.run import MachineFacts, machine_warnings
from slotmark.warnings import Warning

FILE = "unfinished-session.jsonl"
"""Its name below the folder that ``--out`` names."""


class Numbered(Protocol):
    """A round of a bench, as a struct."""

    @property
    def number(self) -> int:
        """Its place among the rounds, from 1; 0 is a warm-up."""
        ...

    @property
    def part(self) -> int:
        """The part of the session that it is of: 0, and one more after each time that it was cut and resumed."""
        ...


R = TypeVar("R", bound=Numbered)


class Head(msgspec.Struct, frozen=True, kw_only=True):
    """What a session is.

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
            "the machine": f"{machine.hostname_hash}, {machine.cores} cores of {machine.cpu}, {machine.kernel}",
        },
    )


class Unfinished(Generic[R]):
    """The file of a session that is going on.

    Attributes:
        path: Of the file.
        head: What the session is.
        rounds: Those that were finished before; empty for a new session.
        done: All that are finished.
    """

    def __init__(self, path: Path, head: Head, rounds: Sequence[R]) -> None:
        self.path = path
        self.head = head
        self.rounds = list(rounds)
        self.done = list(rounds)
        self._waiting = [] if rounds else [msgspec.json.encode(head)]

    def keep(self, one: R) -> None:
        """Writes a round down, behind what waits. RunError where it can't be written."""
        self.done.append(one)
        self._waiting.append(msgspec.json.encode(one))
        if one.number == 0:
            return
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            with self.path.open("ab") as file:
                file.write(b"".join(line + b"\n" for line in self._waiting))
                file.flush()
                os.fsync(file.fileno())
        except OSError as error:
            self.done.pop()
            raise RunError(
                f"{self.path}: can't be written ({error.strerror}). Make room, and go on with --resume."
            ) from error
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
    rounds: int,
    resume: bool,
    on_remark: Callable[[str], None],
    check: Callable[[Sequence[R]], None] = lambda _: None,
) -> Iterator[Unfinished[R]]:
    """Begins a session, or resumes the one that was cut; a remark tells what is kept of one that is cut here.

    Args:
        out: The folder that it is kept below.
        head: What was asked for.
        kind: Of its rounds.
        rounds: How many count.
        resume: Whether to go on with the session that was cut.
        on_remark: Told what a person should know.
        check: Raises RunError where something is missing that these finished rounds need.

    Raises:
        ArgumentError: There is none to resume, or something was asked for that it isn't.
        RunError: There is one, and it isn't to be resumed; or its file is damaged, or what belongs to it.
    """
    kept: Unfinished[R] = _resume(out, head, kind) if resume else _begin(out, head)
    check(kept.rounds)
    if kept.rounds:
        on_remark(f"resumed after round {kept.rounds[-1].number} of {rounds}")
    try:
        yield kept
    except BaseException:
        if finished := sum(one.number > 0 for one in kept.done):
            on_remark(f"{finished} of {rounds} rounds are finished and kept: the same with --resume goes on")
        raise


def _begin(out: Path, head: Head) -> Unfinished[R]:
    path = out / FILE
    if path.exists():
        raise RunError(
            f"{path}: the finished rounds of a session that was cut. Go on with --resume, or remove it, or choose another -o."
        )
    return Unfinished(path, head, [])


def _resume(out: Path, head: Head, kind: type[R]) -> Unfinished[R]:
    path = out / FILE
    if not path.is_file():
        raise ArgumentError(f"--resume: {out} holds no session that was cut. Leave --resume out.")
    whole = path.read_bytes()
    lines = whole[: whole.rfind(b"\n") + 1].splitlines()  # what is behind the last line end was being written
    try:
        before = msgspec.json.decode(lines[0], type=Head)
        rounds = [msgspec.json.decode(line, type=kind) for line in lines[1:]]
    except (IndexError, msgspec.DecodeError, UnicodeDecodeError) as error:
        raise RunError(f"{path}: damaged ({error}). Remove it and begin anew.") from error
    first = rounds[0].number if rounds else 0
    if [one.number for one in rounds] != list(range(first, first + len(rounds))) or first > 1:
        raise RunError(f"{path}: damaged (rounds are missing). Remove it and begin anew.")
    differing = [
        f"{what} was {before.asked.get(what, 'not there')}, is {head.asked.get(what, 'not there')}"
        for what in dict.fromkeys([*before.asked, *head.asked])
        if before.asked.get(what) != head.asked.get(what)
    ]
    if differing:
        raise ArgumentError(
            f"--resume: not the session that was cut: {'; '.join(differing)}. Ask for the same, or begin anew in another -o."
        )
    os.truncate(path, whole.rfind(b"\n") + 1)
    return Unfinished(path, before, rounds)
