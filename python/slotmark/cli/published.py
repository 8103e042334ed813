"""`slotmark published`: reports whose logs are gone, from their tables alone."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from slotmark.cli.console import talk
from slotmark.cli.gate import Deciding, deciding_policy, exit_code
from slotmark.cli.groups import group
from slotmark.cli.reports import AsJson, Out, print_json, show_report
from slotmark.errors import ArgumentError
from slotmark.places import place
from slotmark.temporary import temporary_folder

if TYPE_CHECKING:
    from slotmark.run import Run

app = group("Published reports, from their tables: show them, compare their runs, make runs of them.")

_FILE = typer.Argument(metavar="FILE", help="A report's tables as JSON (docs/archive.md).")


@app.command(epilog="Example: slotmark published show release-10.5.4.value-only.json")
def show(file: Annotated[Path, _FILE], as_json: AsJson = False) -> None:
    """Print what a report's tables have, each value as it was printed, and which metric a row is."""
    from slotmark.published.archive import read_report
    from slotmark.report import print_document
    from slotmark.report.sections.archive import archive_document

    report = read_report(file)
    if as_json:
        print_json(report)
    else:
        print_document(archive_document(report))


@app.command(epilog="Example: slotmark published compare release-10.5.4.value-only.json -o report")
def compare(
    files: Annotated[
        list[Path],
        typer.Argument(metavar="FILE...", help="Tables of reports; the first column of the first is the baseline."),
    ],
    out: Out = None,
    policy: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="The policy, as for `compare`. Exit 0 to ship, 1 to hold, 3 to run again."),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Compare the runs of reports, column by column: the first is the baseline, a run that is printed twice counts once."""
    from slotmark.compare import compare as compare_runs
    from slotmark.published.archive import BENCH
    from slotmark.report import comparison_document

    deciding = Deciding(policy=policy)
    decides = deciding_policy(BENCH, deciding)
    with temporary_folder() as folder:
        runs = _runs(files, Path(folder))
        if len(runs) < 2:
            raise ArgumentError(f"{files[0]}: one run, and a comparison needs two. Name another report's file too.")
        comparison = compare_runs(runs, policy=decides)
    document = comparison_document(comparison)
    show_report(document, comparison, out, as_json=as_json, last=lambda: typer.echo(comparison.line))
    if ended := exit_code(comparison, deciding):
        raise typer.Exit(ended)


@app.command("import", epilog="Example: slotmark published import release-10.5.4.value-only.json 10.5.4 -o runs/10.5.4")
def import_column(
    file: Annotated[Path, _FILE],
    column: Annotated[
        str, typer.Argument(metavar="COLUMN", help="The run: the name of its column, or its number from 1 on.")
    ],
    out: Annotated[
        str, typer.Option("-o", "--out", metavar="RUN", help="The new run folder, or its URL in an object store.")
    ],
) -> None:
    """Make a run folder of one column of a report: it can be compared and shown as any other."""
    from slotmark.published.archive import column_of, read_report, write_run

    report = read_report(file)
    run = write_run(file, report, column_of(file, report, column), place(out))
    talk.warnings(run.manifest.warnings)
    talk.remark(f"{run.place}: {run.manifest.tables['figures']} values of {run.manifest.target.name}")


def _runs(files: list[Path], folder: Path) -> "list[Run]":
    """The runs of all columns, in order; one that an earlier column has is left out, and a line names it."""
    from slotmark.published.archive import read_report, write_run

    runs: dict[str, Run] = {}
    for number, file in enumerate(files, start=1):
        report = read_report(file)
        for column in range(len(report.versions)):
            run = write_run(file, report, column, folder / f"{number}.{column + 1}")
            if (twin := runs.setdefault(run.manifest.id, run)) is not run:
                talk.remark(
                    f"slotmark: {file}, '{run.manifest.target.name}' is the run of '{twin.manifest.target.name}', "
                    f"started {run.manifest.started}: it counts once"
                )
    return list(runs.values())
