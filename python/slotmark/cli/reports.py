"""What commands that write reports have in common: which runs they read, where reports go, and how they are printed."""

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from slotmark.errors import ArgumentError

if TYPE_CHECKING:
    from slotmark.report.document import Document
    from slotmark.run import Run

Out = Annotated[
    Path | None,
    typer.Option("-o", "--out", metavar="DIR", help="Write report.html, report.pdf, report.md and report.json there."),
]


def opened_sides(command: str, named: Sequence[str]) -> "list[list[Run]]":
    """The runs of each side, of which one is named as ``A`` or ``A1,A2``. ArgumentError where a side names none."""
    from slotmark.run import open_run

    opened = [[open_run(path) for path in side.split(",") if path] for side in named]
    if not all(opened):
        raise ArgumentError(f"{command}: a side names no folder at all. Name A1,A2 for several runs of one target.")
    return opened


def print_report(document: "Document", written: Sequence[Path]) -> None:
    """Prints a report's tables, and which files it was written to."""
    from slotmark.report import print_document

    print_document(document)
    for path in written:
        typer.echo(path, file=sys.stdout)  # without it, echo takes a standard output of ASCII for one of UTF-8
