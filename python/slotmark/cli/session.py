"""The end of a command that measured a session: its runs, how to compare them, and what failed."""

import shlex
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from slotmark.cli.console import talk
from slotmark.errors import TargetError
from slotmark.places import Place
from slotmark.words import sentence

if TYPE_CHECKING:
    from slotmark.run import Run


def end_session(
    runs: Sequence["Run"],
    named: Sequence["Run"],
    errors: Sequence[TargetError],
    out: Path,
    sides: Sequence[Sequence[Place]] = (),
) -> None:
    """Prints the runs, names those that can be compared, and how.

    Args:
        runs: All that were written.
        named: Those of the targets that were asked for.
        errors: What went wrong with targets that failed.
        out: The folder that the runs are below.
        sides: The runs that are compared, by target; without any, those of ``named``, each by itself.

    Raises:
        TargetError: The last error, if there is any; those before it are remarks.
    """
    from slotmark.compare import show_session
    from slotmark.report import print_document, session_document

    print_document(session_document(show_session(runs)))
    for one in named:
        typer.echo(one.place)
    sides = sides or [[one.place] for one in named]
    if len(sides) > 1:
        talk.remark(compare_rounds(sides, out))
    report_failures([str(error) for error in errors])


def end_rounds(runs: Sequence["Run"], errors: Sequence[TargetError], out: Path) -> None:
    """Ends a session that has a run for each target and round, as :func:`end_session`; the targets are compared."""
    sides: dict[str, list[Place]] = {}
    for one in runs:
        sides.setdefault(one.manifest.target.name, []).append(out / one.place.name)
    end_session(runs, runs, errors, out, list(sides.values()))


def compare_rounds(sides: Sequence[Sequence[Place]], out: Place) -> str:
    """The remark with the command that compares the runs of each target, below a folder, as a shell takes it."""
    words = ["slotmark", "compare", *(",".join(map(str, paths)) for paths in sides), "-o", str(out / "report")]
    return f"Compare them: {shlex.join(words)}"


def compare_command(runs: Iterable["Run"]) -> str:
    """The command that compares runs, as a shell takes it whatever their folders are called."""
    return shlex.join(["slotmark", "compare", *(str(run.place) for run in runs)])


def report_failures(errors: Sequence[str]) -> None:
    """Prints all but the last as remarks, and raises TargetError of that; nothing where there are none."""
    for error in errors[:-1]:
        talk.remark(f"slotmark: {error}")
    if errors:
        raise TargetError(f"{sentence(errors[-1])} What did not fail was kept.")
