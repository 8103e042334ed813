"""Runs that commands make until there is an answer or a budget of time ends: what rounds by two commands and a search by one have in common.

A command is words, and no shell reads them. What it leaves is a stranger's data.
"""

import re
import shlex
import shutil
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, suppress
from pathlib import Path
from typing import TypeVar

import msgspec

from slotmark.errors import ArgumentError, RunError, TargetError
from slotmark.measure import session as sessions
from slotmark.measure.process import how_ended, last_words_in, nothing_left, refuse_endless, running
from slotmark.numbers import duration
from slotmark.run import Run, machine_facts, open_run, utc_now
from slotmark.temporary import temporary_file

_WAIT_S = 0.2
_ENDING_S = 10
"""Time that a command has to end by itself, once it is told to."""


class Timed(msgspec.Struct, frozen=True):
    """A finished step of a session.

    Attributes:
        number: From 1.
        part: Part of the session: 0, and one more after each time that it was cut and resumed.
        seconds: How long it took.
    """

    number: int
    part: int
    seconds: float


T = TypeVar("T", bound=Timed)


class Budgeted(msgspec.Struct, frozen=True, kw_only=True):
    """A session that is asked for.

    Attributes:
        out: The folder that all is kept below.
        budget_s: Time that all runs may take, those of a session that was cut included.
        resume: Whether to go on with the session in ``out``.
        settings: What else may not change when it is resumed, in words.
    """

    out: Path
    budget_s: float
    resume: bool = False
    settings: Mapping[str, str] = {}

    def session(
        self, kind: type[T], asked: Mapping[str, str], on_remark: Callable[[str], None]
    ) -> AbstractContextManager[sessions.Unfinished[T]]:
        """Begins the session, or resumes it; ``asked`` may not change either."""
        head = sessions.new_session(machine_facts(), utc_now(), {**asked, **self.settings})
        return sessions.open_session(self.out, head, kind, rounds=None, resume=self.resume, on_remark=on_remark)

    def ended_by(self, done: Sequence[Timed], step: str) -> str:
        """Returns what ends the session, in words; empty where there is room for one more step, as long as the longest so far."""
        used, longest = used_s(done), max((one.seconds for one in done), default=0.0)
        if used < self.budget_s and used + longest <= self.budget_s:
            return ""
        return f"the budget: {duration(used)} of {duration(self.budget_s)} are used, and a {step} takes up to {duration(longest)}"

    def saying(
        self,
        done: Sequence[Timed],
        began: float,
        label: str,
        more: int | None,
        on_progress: Callable[[str], None],
    ) -> Callable[[], None]:
        """Returns what reports how far the session is, and how long it may still take.

        Args:
            done: The steps before this one.
            began: When this one did, on the monotonic clock.
            label: This one in words.
            more: About how many more are needed; None where that is unknown.
            on_progress: Called with the words.
        """
        used, typical = used_s(done), used_s(done) / len(done) if done else None

        def say() -> None:
            took = time.monotonic() - began
            left, about = self.budget_s - used - took, "at most"
            if typical is not None and more is not None:
                left, about = min(left, more * typical - took), "about"
            on_progress(
                f"{label}: {duration(used + took)} of {duration(self.budget_s)} used, {about} {duration(max(left, 0.0))} left"
            )

        return say


def used_s(done: Sequence[Timed]) -> float:
    """The time that steps took in all."""
    return sum(one.seconds for one in done)


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


def remove_cut(folder: Path, name: str) -> None:
    """Removes what there is of a run that isn't finished, by its folder's name, as its logs beside it."""
    of_run = re.compile(rf"\.?{re.escape(name)}(?!\d)")
    for place in [*folder.iterdir()]:
        if of_run.match(place.name):
            removed(place)
