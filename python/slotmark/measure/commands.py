"""Rounds of runs that two commands make, one round after the other, until they decide or the budget ends.

    <out>/a/round-1  <out>/b/round-1  <out>/a/round-2 …
    <out>/unfinished-session.jsonl

Each round has a run by each command, in an order that is drawn at random.
"""

import random
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Literal

import msgspec

from slotmark.errors import RunError, TargetError
from slotmark.measure import session as sessions
from slotmark.measure.by_command import Budgeted, Timed, filled, made_by, remove_cut, removed, used_s
from slotmark.measure.content import in_words
from slotmark.numbers import duration
from slotmark.run import Run, open_run
from slotmark.run.folder import as_of_round
from slotmark.run.storage import MANIFEST, refuse_existing

SIDES = ("a", "b")
"""The names of the two commands, and of the folders of their runs: the baseline first."""


class Request(Budgeted, frozen=True, kw_only=True):
    """Rounds that are asked for.

    Attributes:
        commands: The words of each side's command: ``{out}`` in them is the folder that it must leave its run in, ``{round}`` the number of the round.
        rounds_at_most: How many rounds there may be; None for as many as the budget has room for.
        seed: Seed of the order within rounds.
    """

    commands: Mapping[str, Sequence[str]]
    rounds_at_most: int | None = None
    seed: int = 1


class Round(Timed, frozen=True):
    """A finished round.

    Attributes:
        runs: The sides that left a run, in the order in which they ran.
        failed: What went wrong, by side: the round is not compared.
    """

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
        **{f"--run-{side}": in_words(words) for side, words in request.commands.items()},
        "--seed": str(request.seed),
    }
    if not request.resume:
        for side in request.commands:
            refuse_existing(request.out / side)
    with request.session(Round, asked, on_remark) as kept:
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
        return self._request.ended_by(done, "round")

    def round(self, more: int | None) -> Round:
        """Makes a round, and keeps it; what there is of it is removed where it isn't whole.

        Args:
            more: About how many more are needed, for the time that is left.
        """
        number, began = len(self._kept.done) + 1, time.monotonic()
        until = began + self._request.budget_s - used_s(self._kept.done)
        made: dict[str, Run] = {}
        failed: dict[str, str] = {}
        try:
            for side in self._order(number):
                say = self._request.saying(
                    self._kept.done, began, f"round {number}, --run-{side}", more, self._on_progress
                )
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
            done = Round(number, self._kept.part, time.monotonic() - began, [*made], failed)  # pyright: ignore[reportArgumentType] - sides are names of commands
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

    def _place(self, side: str, number: int) -> Path:
        return self._request.out / side / f"round-{number}"

    def _remove(self, number: int) -> None:
        """Removes what there is of a round that isn't finished, and folders that are left without a run."""
        for side in self._request.commands:
            place = self._place(side, number)
            if not place.parent.is_dir():
                continue
            remove_cut(place.parent, place.name)
            if not any(place.parent.iterdir()):
                place.parent.rmdir()
