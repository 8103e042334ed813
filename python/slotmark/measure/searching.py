"""Runs of commits that a command builds and measures, one after the other, until a search has its answer or the budget ends.

    <out>/run-1  <out>/run-2 …
    <out>/unfinished-session.jsonl

The runs are numbered over all commits.
"""

import hashlib
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import msgspec

from slotmark.errors import ArgumentError, TargetError
from slotmark.measure.by_command import Budgeted, Timed, filled, made_by, remove_cut, removed, used_s, words_of
from slotmark.measure.content import in_words
from slotmark.numbers import duration
from slotmark.run import Run, open_run
from slotmark.run.storage import MANIFEST, refuse_existing

_RUN = "run-"
"""The name of a run's folder, before its number."""


class Request(Budgeted, frozen=True, kw_only=True):
    """A search that is asked for.

    Attributes:
        command: Its words: ``{commit}`` in them is the commit, ``{out}`` the folder that it must leave its run in, ``{round}`` the number of the run.
        commits: From the good one to the bad one, both included.
    """

    command: Sequence[str]
    commits: Sequence[str]


class Made(Timed, frozen=True):
    """A run that was asked for.

    Attributes:
        place: The place of its commit, from 0 for the good one on.
        failed: What went wrong; empty where it left a run.
    """

    place: int
    failed: str = ""


class Step(msgspec.Struct, frozen=True):
    """The next step of a search.

    Attributes:
        place: The place of the commit to run; None where it has its answer.
        words: What it knows, in words.
        more: About how many more runs it takes; None where that is unknown.
    """

    place: int | None
    words: str
    more: int | None = None


class Ended(msgspec.Struct, frozen=True):
    """The end of a search.

    Attributes:
        by: What ended it without an answer, in words; empty where there is one.
        made: All runs.
    """

    by: str
    made: list[Made]


def command_of(option: str, command: str) -> list[str]:
    """The words of a search's command. ArgumentError where it is none, or doesn't name ``{commit}`` and ``{out}``."""
    words = words_of(option, command)
    if not any("{commit}" in word for word in words[1:]):
        raise ArgumentError(
            f"{option} '{command}': {{commit}} isn't in it, the commit that it must build and measure. Try {option} './measure.sh {{commit}} {{out}}'."
        )
    return words


def search(
    request: Request,
    step: Callable[[Sequence[Made], Mapping[int, Run]], Step],
    on_progress: Callable[[str], None],
    on_remark: Callable[[str], None],
    spoilt: Callable[[Run], str] = lambda _: "",
) -> Ended:
    """Makes runs until a search has its answer, or the budget ends.

    A commit whose first run fails is left out of the search. A run that fails of a commit that had one before, is named and counts for the budget; the second one in turn ends the session.

    Args:
        request: What to make.
        step: Called with what was made, and with the runs that are there by number; returns what to do next. Raises a SlotmarkError where a run can't be used.
        on_progress: Called all the time with what is being done, in words.
        on_remark: Called with what a person should know.
        spoilt: Called with each run; returns why it can't be compared, in words, so that it failed; empty where it can.

    Raises:
        ArgumentError: There is nothing to resume, or something else was asked for.
        RunError: A run is there already, or the session's file is damaged.
        TargetError: The good or the bad commit failed, or two runs did, one after the other.
        KeyboardInterrupt: A signal came; finished runs are kept.
    """
    commits = request.commits
    asked = {
        "--run": in_words(request.command),
        "commits": f"{commits[0]} to {commits[-1]}, {len(commits):,} in all, in the order {_order(commits)}",
    }
    with request.session(Made, asked, on_remark) as kept:
        if not request.resume:
            # Runs of another search would be taken for those that the command makes, and other files for what is left of a run.
            for there in sorted(request.out.glob(f"{_RUN}[0-9]*")):
                refuse_existing(there)
        remove_cut(request.out, _place(request.out, len(kept.done) + 1).name)
        runs = {one.number: open_run(_place(request.out, one.number)) for one in kept.done if not one.failed}
        wanted = step(kept.done, runs)
        by = ""
        while wanted.place is not None and not (by := request.ended_by(kept.done, "run")):
            commit = commits[wanted.place]
            number, began = len(kept.done) + 1, time.monotonic()
            until = began + request.budget_s - used_s(kept.done)
            folder = _place(request.out, number)
            failed = ""
            say = request.saying(kept.done, began, f"run {number}, {commit[:12]}", wanted.more, on_progress)
            try:
                fills = {"out": str(folder.resolve()), "round": str(number), "commit": commit}
                try:
                    run = made_by("--run", filled(request.command, fills), folder, until, say)
                    if why := spoilt(run):
                        raise TargetError(why)
                    runs[number] = run
                except TargetError as error:
                    failed = str(error)
                    if time.monotonic() > until:
                        remove_cut(request.out, folder.name)
                        by = f"the budget: run {number}, of {commit[:12]}, was stopped at its end"
                        break
                    _refuse_failure(request, kept.done, wanted.place, failed)
                    if not (folder / MANIFEST).is_file():
                        removed(folder)
                    on_remark(f"run {number}: {commit[:12]} failed: {failed}")
                one = Made(number, kept.part, time.monotonic() - began, wanted.place, failed)
                wanted = step([*kept.done, one], runs)  # it isn't kept where it can't be used
                kept.keep(one)
            except BaseException:
                remove_cut(request.out, folder.name)
                runs.pop(number, None)
                raise
            if not failed:
                on_remark(f"run {number}, {commit[:12]}, {duration(one.seconds)}: {wanted.words}")
        if wanted.place is None:
            kept.remove()
    return Ended(by, kept.done)


def left_out(made: Sequence[Made]) -> dict[int, str]:
    """The places of commits of which no run came, with what went wrong first."""
    there = {one.place for one in made if not one.failed}
    found: dict[int, str] = {}
    for one in made:
        if one.failed and one.place not in there:
            found.setdefault(one.place, one.failed)
    return found


def _refuse_failure(request: Request, made: Sequence[Made], place: int, failed: str) -> None:
    """Raises TargetError where a failure leaves nothing to search by."""
    commit = request.commits[place]
    before = [one for one in made if one.place == place]
    if place in (0, len(request.commits) - 1) and not any(not one.failed for one in before):
        option = "--good" if place == 0 else "--bad"
        raise TargetError(f"{option} {commit}: {failed}")
    if before and not before[0].failed and made[-1].failed and made[-1].place not in left_out(made):
        raise TargetError(f"two runs of commits that had run before failed, one after the other; the last: {failed}")


def _order(commits: Sequence[str]) -> str:
    """A digest of commits and their order: runs are kept by the place of their commit."""
    return hashlib.sha256("\n".join(commits).encode()).hexdigest()[:12]


def _place(out: Path, number: int) -> Path:
    return out / f"{_RUN}{number}"
