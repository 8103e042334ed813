"""Rounds of runs that two commands make, one round after the other, until they decide or the budget ends.

    <out>/a/round-1  <out>/b/round-1  <out>/a/round-2 …
    <out>/unfinished-session.jsonl

Each round has a run by each command, in an order that is drawn at random. A command is words, and no shell reads them. What it leaves is a stranger's data.
"""

import random
import re
import shlex
import shutil
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Literal

import msgspec

from slotmark.errors import ArgumentError, RunError, TargetError
from slotmark.measure import session as sessions
from slotmark.measure.process import how_ended, last_words_in, nothing_left, refuse_endless, running
from slotmark.numbers import duration
from slotmark.run import Run, machine_facts, open_run, utc_now
from slotmark.run.folder import as_of_round
from slotmark.run.storage import MANIFEST, refuse_existing
from slotmark.temporary import temporary_file

SIDES = ("a", "b")
"""The names of the two commands, and of the folders of their runs: the baseline first."""

_WAIT_S = 0.2
_ENDING_S = 10
"""Time that a command has to end by itself, once it is told to."""


class Request(msgspec.Struct, frozen=True, kw_only=True):
    """Rounds that are asked for.

    Attributes:
        commands: The words of each side's command: ``{out}`` in them is the folder that it must leave its run in, ``{round}`` the number of the round.
        out: The folder that all is kept below.
        budget_s: Time that all rounds may take, those of a session that was cut included.
        rounds_at_most: How many rounds there may be; None for as many as the budget has room for.
        seed: Seed of the order within rounds.
        resume: Whether to go on with the session in ``out``.
        settings: What else may not change when it is resumed, in words.
    """

    commands: Mapping[str, Sequence[str]]
    out: Path
    budget_s: float
    rounds_at_most: int | None = None
    seed: int = 1
    resume: bool = False
    settings: Mapping[str, str] = {}


class Round(msgspec.Struct, frozen=True):
    """A finished round.

    Attributes:
        number: From 1.
        part: Part of the session: 0, and one more after each time that it was cut and resumed.
        seconds: How long it took.
        runs: The sides that left a run, in the order in which they ran.
        failed: What went wrong, by side: the round is not compared.
    """

    number: int
    part: int
    seconds: float
    runs: list[Literal["a", "b"]]
    failed: dict[str, str]


class Look(msgspec.Struct, frozen=True):
    """Findings of the rounds so far.

    Attributes:
        decided: Whether no further round is needed.
        words: The same in words.
        more: About how many more rounds are needed; None where that is unknown.
    """

    decided: bool
    words: str
    more: int | None = None


class Ended(msgspec.Struct, frozen=True):
    """The end of the rounds.

    Attributes:
        decided: Whether they decided.
        by: What else ended them, in words.
        rounds: All of them.
    """

    decided: bool
    by: str
    rounds: list[Round]


Groups = list[list[Run]]
"""The runs of each side, in the order of their rounds."""


def words_of(option: str, command: str) -> list[str]:
    """The words of a command as a shell would split them. ArgumentError where it is none, doesn't name ``{out}``, or isn't there."""
    example = f"{option} 'slotmark simulate PROFILE --direct --seed {{round}} -o {{out}}'"
    try:
        words = shlex.split(command)
    except ValueError as error:
        raise ArgumentError(f"{option} '{command}': not the words of a command ({error}). Try {example}.") from error
    if not words:
        raise ArgumentError(f"{option}: names no command. Try {example}.")
    if not any("{out}" in word for word in words[1:]):
        raise ArgumentError(
            f"{option} '{command}': {{out}} isn't in it, the folder that it must leave its run in. Try {example}."
        )
    if shutil.which(words[0]) is None:
        raise ArgumentError(f"{option} '{command}': there is no program '{words[0]}'. Check the command's first word.")
    return words


def make_rounds(
    request: Request,
    look: Callable[[Groups], Look],
    on_progress: Callable[[str], None],
    on_remark: Callable[[str], None],
    check: Callable[[Groups], None] = lambda _: None,
    spoilt: Callable[[Run], str] = lambda _: "",
) -> Ended:
    """Makes rounds until they decide or the budget ends.

    A round in which a command fails is named, counts for the budget, and isn't made again. It ends the session where it is the first, and where the one before failed too.
    A session that ends without a decision can be resumed with a larger budget.

    Args:
        request: What to make.
        look: Called with the runs after each round that has both.
        on_progress: Called all the time with what is being done, in words.
        on_remark: Called with what a person should know.
        check: Called with the runs of each new round beside all before; raises a SlotmarkError where they can't be compared, which ends the session
            without that round.
        spoilt: Called with each run; returns why it can't be compared, in words, so that its round failed; empty where it can.

    Raises:
        ArgumentError: There is nothing to resume, or something else was asked for.
        RunError: A run is there already, or the session's file is damaged.
        TargetError: The first round failed, or two did, one after the other.
        KeyboardInterrupt: A signal came; finished rounds are kept.
    """
    asked = {
        **{f"--run-{side}": shlex.join(words) for side, words in request.commands.items()},
        "--seed": str(request.seed),
        **request.settings,
    }
    head = sessions.new_session(machine_facts(), utc_now(), asked)
    if not request.resume:
        for side in request.commands:
            refuse_existing(request.out / side)
    with sessions.open_session(
        request.out, head, Round, rounds=None, resume=request.resume, on_remark=on_remark
    ) as kept:
        making = _Making(request, kept, on_progress, on_remark, check, spoilt)
        groups = making.groups()
        by = ""
        found = look(groups) if kept.done and groups[0] else None
        while not (found and found.decided) and not (by := making.ended_by()):
            done = making.round(found.more if found else None)
            if not done.failed:
                groups = making.groups()
                found = look(groups)
                on_remark(f"round {done.number}, {duration(done.seconds)}: {found.words}")
            elif len(kept.done) > 1 and kept.done[-2].failed:
                side, why = next(iter(done.failed.items()))
                raise TargetError(
                    f"rounds {done.number - 1} and {done.number} failed, one after the other; the last: --run-{side}: {why}"
                )
        decided = found is not None and found.decided
        if decided:
            kept.remove()
    return Ended(decided, by, kept.done)


class _Making:
    """The rounds of a session while they are made."""

    def __init__(
        self,
        request: Request,
        kept: sessions.Unfinished[Round],
        on_progress: Callable[[str], None],
        on_remark: Callable[[str], None],
        check: Callable[[Groups], None],
        spoilt: Callable[[Run], str],
    ) -> None:
        self._request, self._kept = request, kept
        self._on_progress, self._on_remark = on_progress, on_remark
        self._check, self._spoilt = check, spoilt
        self._part = kept.rounds[-1].part + 1 if kept.rounds else 0
        self._remove(len(kept.done) + 1)

    def groups(self, *more: Run) -> Groups:
        """The runs of all finished rounds, and those of one more."""
        groups = [
            [open_run(self._place(side, one.number)) for one in self._kept.done if side in one.runs]
            for side in self._request.commands
        ]
        whole = {one.number for one in self._kept.done if not one.failed}
        if len(whole) < 2:
            # One round by itself isn't left out of anything.
            groups = [[run for run in group if run.manifest.round in whole] for group in groups]
        for group, run in zip(groups, more, strict=False):
            group.append(run)
        return groups

    def ended_by(self) -> str:
        """Returns what ends the rounds, in words; empty where there is room for one more, as long as the longest so far."""
        done, most = self._kept.done, self._request.rounds_at_most
        if most is not None and len(done) >= most:
            return f"--rounds-at-most {most}"
        longest = max((one.seconds for one in done), default=0.0)
        used = self._used()
        if used >= self._request.budget_s or used + longest > self._request.budget_s:
            return f"the budget: {duration(used)} of {duration(self._request.budget_s)} are used, and a round takes {duration(longest)}"
        return ""

    def round(self, more: int | None) -> Round:
        """Makes a round, and keeps it; what there is of it is removed where it isn't whole.

        Args:
            more: About how many more are needed, for the time that is left.
        """
        number, began = len(self._kept.done) + 1, time.monotonic()
        until = began + self._request.budget_s - self._used()
        made: dict[str, Run] = {}
        failed: dict[str, str] = {}
        try:
            for side in self._order(number):
                say = self._saying(number, side, began, until, more)
                place = self._place(side, number)
                try:
                    made[side] = self._run(side, number, place, until, say)
                except TargetError as error:
                    failed[side] = str(error)
                    if number == 1:
                        raise TargetError(f"--run-{side}: {error}") from error
                    if not (place / MANIFEST).is_file():
                        removed(place)
                    self._on_remark(f"round {number}: --run-{side} failed, so this round is not compared: {error}")
                    break  # of this round nothing is left that could be compared
            if not failed:
                self._check(self.groups(*(made[side] for side in self._request.commands)))
            done = Round(number, self._part, time.monotonic() - began, [*made], failed)  # pyright: ignore[reportArgumentType] - sides are names of commands
            self._kept.keep(done)
        except BaseException:
            self._remove(number)
            raise
        return done

    def _run(self, side: str, number: int, place: Path, until: float, say: Callable[[], None]) -> Run:
        """Makes one run. TargetError where the command fails, takes too long, or leaves no run."""
        words = filled(self._request.commands[side], {"out": str(place.resolve()), "round": str(number)})
        run = made_by(f"--run-{side}", words, place, until, say)
        try:
            run = as_of_round(run, self._kept.head.session, number)
        except RunError as error:
            raise TargetError(str(error)) from error
        if why := self._spoilt(run):
            raise TargetError(why)
        return run

    def _order(self, number: int) -> list[str]:
        """The sides of a round in their order, drawn by the seed."""
        shuffler = random.Random(self._request.seed)
        sides: list[str] = []
        for _ in range(number):
            sides = [*self._request.commands]
            shuffler.shuffle(sides)
        return sides

    def _saying(self, number: int, side: str, began: float, until: float, more: int | None) -> Callable[[], None]:
        """Returns what reports how far the rounds are, and how long they may still take."""
        done = self._kept.done
        typical = self._used() / len(done) if done else None

        def say() -> None:
            left = until - time.monotonic()
            if typical is not None and more is not None:
                left = min(left, max(more * typical - (time.monotonic() - began), 0.0))
            about = "about" if typical is not None and more is not None else "at most"
            used = self._used() + time.monotonic() - began
            self._on_progress(
                f"round {number}, --run-{side}: {duration(used)} of {duration(self._request.budget_s)} used, {about} {duration(max(left, 0.0))} left"
            )

        return say

    def _used(self) -> float:
        return sum(one.seconds for one in self._kept.done)

    def _place(self, side: str, number: int) -> Path:
        return self._request.out / side / f"round-{number}"

    def _remove(self, number: int) -> None:
        """Removes what there is of a round that isn't finished, as its logs beside it, and folders that are left without a run."""
        of_round = re.compile(rf"\.?round-{number}(?!\d)")
        for side in self._request.commands:
            folder = self._place(side, number).parent
            if not folder.is_dir():
                continue
            left = [*folder.iterdir()]
            for place in left:
                if of_round.match(place.name):
                    removed(place)
            if not any(folder.iterdir()):
                folder.rmdir()


def filled(words: Sequence[str], fills: Mapping[str, str]) -> list[str]:
    """The words of a command, with texts in the places that name them: ``{out}``, as it may be. A text never makes more words."""
    places = re.compile("|".join(re.escape(f"{{{name}}}") for name in fills))
    return [places.sub(lambda found: fills[found[0][1:-1]], word) for word in words]


def made_by(label: str, words: Sequence[str], place: Path, until: float, say: Callable[[], None]) -> Run:
    """Makes a run by a command.

    Args:
        label: The option that names the command.
        words: The command.
        place: The folder that it must leave its run in.
        until: When it is stopped, on the monotonic clock.
        say: Called all the time meanwhile.

    Raises:
        TargetError: It fails, takes too long, or leaves no run.
    """
    place.parent.mkdir(exist_ok=True)
    with (
        temporary_file() as printed,
        nothing_left(),
        running(label, words, stdout=printed, stderr=subprocess.STDOUT) as process,
    ):
        try:
            while process.poll() is None:
                if time.monotonic() > until:
                    raise TargetError(
                        f"the budget ended before `{shlex.join(words)}` did, which was stopped. Give it more time with --budget."
                    )
                refuse_endless(label, printed)
                say()
                with suppress(subprocess.TimeoutExpired):
                    process.wait(_WAIT_S)
        except BaseException:
            process.terminate()  # it may have to tidy up
            with suppress(subprocess.TimeoutExpired):
                process.wait(_ENDING_S)
            raise
        if process.returncode:
            said = last_words_in(printed) or "it printed nothing"
            raise TargetError(f"`{shlex.join(words)}` {how_ended(process.returncode)}: {said}")
    if place.is_symlink():
        raise TargetError(f"`{shlex.join(words)}` left a link at {place}, not a run folder. Have it write there.")
    try:
        return open_run(place)
    except RunError as error:
        raise TargetError(f"`{shlex.join(words)}` left no run: {error}") from error


def removed(place: Path) -> None:
    """Removes what a command left at a place, whatever it is."""
    if place.is_symlink() or place.is_file():
        place.unlink()
    elif place.exists():
        shutil.rmtree(place)
