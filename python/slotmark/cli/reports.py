"""Common parts of commands that write reports: the runs that they read, the places of reports, and their output."""

import ctypes
import os
import sys
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import cache, partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from slotmark.addresses import addresses_are_limited
from slotmark.cli.console import progress, reader_may_leave, talk
from slotmark.errors import ArgumentError
from slotmark.places import Place, folder_of

if TYPE_CHECKING:
    import msgspec

    from slotmark.report.document import Document
    from slotmark.run import Run


def _for_reports(named: str) -> Path:
    """The folder that is named for reports. ArgumentError for a URL, for a run folder (what is in it is one run's), and where no file can be written."""
    folder = folder_of(named)
    if (folder / "run.json").is_file():
        raise ArgumentError(f"-o {folder}: a run folder. Reports go elsewhere: name another folder.")
    there = next(one for one in (folder, *folder.absolute().parents) if os.path.lexists(one))
    if not there.is_dir():
        raise ArgumentError(f"-o {folder}: {there} is no folder. Name another folder.")
    if not os.access(there, os.W_OK | os.X_OK):
        raise ArgumentError(f"-o {folder}: nothing can be written to {there}. Name another folder.")
    return folder


Out = Annotated[
    Path | None,
    typer.Option(
        "-o",
        "--out",
        metavar="DIR",
        help="Write report.html, .pdf, .md and .json there, report-short.md for a comment, and report-sources.csv.",
        parser=_for_reports,
    ),
]


SimulationsOption = Annotated[
    str | None,
    typer.Option(
        "--simulations",
        metavar="RUN",
        help="Also write all simulations as one run, a row each, to a new folder or a URL: slotmark show RUN.",
    ),
]

AsJson = Annotated[bool, typer.Option("--json", help="Print JSON instead of tables; docs/report-json.md.")]


_M_TRIM_THRESHOLD, _M_MMAP_THRESHOLD, _M_ARENA_MAX = -1, -3, -8
"""Parameters of mallopt, in glibc's malloc.h."""


ANALYSIS_BYTES = 768 << 20
"""Bytes of addresses that an analysis takes at least, beside what is loaded before it."""


def opened_run(path: str) -> "Run":
    """A run that a command analyses, in a folder or in an object store."""
    from slotmark.run import open_run

    share_freed_memory()
    return open_run(path)


def opened_runs(named: Sequence[str]) -> "list[Run]":
    """The runs that a command analyses together; a folder of run folders stands for all of them."""
    from slotmark.run import open_runs

    share_freed_memory()
    return [run for path in named for run in open_runs(path)]


def opened_sides(command: str, named: Sequence[str]) -> "list[list[Run]]":
    """The runs of each side: ``A`` is a run or a folder of runs, ``A1,A2`` several. ArgumentError where a side names none."""
    opened = [opened_runs(paths_of(side)) for side in named]
    if not all(opened):
        raise ArgumentError(f"{command}: a side names no folder at all. Name A1,A2 for several runs of one target.")
    return opened


def paths_of(side: str) -> list[str]:
    """The places that commas separate; a comma belongs to a name where the name up to it isn't there and the longer one is."""
    found: list[str] = []
    left = side.split(",")
    while left:
        ends = range(1, len(left) + 1)
        end = next((end for end in ends if os.path.lexists(",".join(left[:end]))), 1)
        found.append(",".join(left[:end]))
        left = left[end:]
    return [one for one in found if one]


def share_freed_memory() -> None:
    """Lets threads use what others freed, as Arrow does (:mod:`slotmark.__main__`), and loads what needs room while there is some.

    By default glibc keeps what was freed for the thread that did: hundreds of MiB in a full run.

    What was freed stays with the process, up to a bound: else the kernel clears the same pages again for each table, for a tenth of the time.
    """
    with suppress(OSError, AttributeError):  # other C libraries
        mallopt = ctypes.CDLL(None).mallopt
        mallopt(_M_ARENA_MAX, 1)
        mallopt(_M_MMAP_THRESHOLD, 32 << 20)  # the most that it takes
        mallopt(_M_TRIM_THRESHOLD, 256 << 20)
    _load_while_there_is_room()


@cache
def _load_while_there_is_room() -> None:
    """Loads SciPy first where addresses are limited. MemoryError where too few are left.

    OpenBLAS, which SciPy loads, asks for its block for ever where it gets none, and DuckDB crashes.
    """
    if addresses_are_limited(ANALYSIS_BYTES):
        import scipy.linalg
        import scipy.special
        import scipy.stats  # noqa: F401


def print_json(result: "msgspec.Struct") -> None:
    """Prints a result as report.json has it."""
    from slotmark.report.renderers.json import json

    sys.stdout.write(json(result).decode())


def print_report(document: "Document", written: Sequence[Place]) -> None:
    """Prints a report's tables, and which files it was written to."""
    from slotmark.report import print_document

    print_document(document)
    for path in written:
        typer.echo(path, file=sys.stdout)  # without it, echo takes a standard output of ASCII for one of UTF-8


def show_report(
    document: "Document",
    result: "msgspec.Struct",
    out: Path | None,
    *,
    as_json: bool,
    before: Sequence[Place] = (),
    last: Callable[[], None] = lambda: None,
) -> None:
    """Writes a report where a folder is given, and prints it, or JSON in its place.

    Args:
        document: The report.
        result: What it is of.
        out: The folder that it is written to; None for none.
        as_json: Whether JSON is printed in the place of tables.
        before: Paths that were written before it.
        last: Prints what stands below the tables.
    """
    from slotmark.report import write_report

    written: list[Place] = [*before]
    if out is not None:
        with talk.doing() as doing:
            doing(f"writing the report to {out}")
            written += write_report(document, result, out)
    with reader_may_leave():
        if as_json:
            print_json(result)
        else:
            print_report(document, written)
            last()


def together_at(named: str | None) -> "Callable[[list[Run]], Run] | None":
    """Returns what writes all simulations of runs as one run to the place that was named; None for none. RunError where something is there."""
    from slotmark.benches.cluster.simulating.predict import written_together
    from slotmark.places import place
    from slotmark.run.storage import refuse_existing, try_out

    if named is None:
        return None
    out = place(named)
    refuse_existing(out)
    try_out(out)
    return partial(written_together, out=out)


def report_runs(
    make: "Callable[[Path, Callable[[int, int], None]], list[Run]]",
    out: Path | None,
    *,
    unit: str,
    doing: str,
    as_json: bool,
    together: "Callable[[list[Run]], object] | None" = None,
) -> None:
    """Makes runs in a temporary folder, compares them where there are several, and prints and writes the report.

    Args:
        make: Makes the runs in a folder, and calls the second argument with what is done and in all.
        out: The folder that the report is written to; None for none.
        unit: Unit of the count.
        doing: What is being done, in a word.
        as_json: Whether JSON is printed in the place of tables.
        together: Is given the runs while they are there; None for nothing.
    """
    from slotmark.compare import alone, compare
    from slotmark.report import comparison_document
    from slotmark.temporary import temporary_folder

    with temporary_folder() as folder:
        with progress(unit) as step:
            runs = make(Path(folder), lambda done, total: step(done, total, doing))
        if together:
            together(runs)
        result = compare(runs) if len(runs) > 1 else alone(runs[0])
        document = comparison_document(result)
    show_report(document, result, out, as_json=as_json)
