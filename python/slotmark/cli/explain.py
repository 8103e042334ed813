"""`slotmark explain`: where the differences between two sides come from."""

import sys
from pathlib import Path
from typing import Annotated

import typer

from slotmark.cli.console import reader_may_leave
from slotmark.cli.show import Filters


def explain(
    baseline: Annotated[
        str, typer.Argument(metavar="RUN", help="The baseline's run folder; A1,A2 for several of one target.")
    ],
    candidate: Annotated[str, typer.Argument(metavar="RUN", help="The candidate's, likewise.")],
    out: Annotated[
        Path | None,
        typer.Option(
            "-o", "--out", metavar="DIR", help="Write report.html, report.pdf, report.md and report.json there."
        ),
    ] = None,
    filters: Filters = None,
) -> None:
    """Split the difference of a metric into the steps of which it is made, and name the one that makes most of it."""
    from slotmark.compare.explain import explain as explain_runs
    from slotmark.metrics import parse_filters
    from slotmark.report import explanation_document, print_document, write_report
    from slotmark.run import open_run

    opened = [[open_run(path) for path in side.split(",") if path] for side in (baseline, candidate)]
    chosen = None if filters is None else parse_filters(filters, opened[0][0].manifest.bench)
    found = explain_runs(*opened, filters=chosen)
    document = explanation_document(found)
    written = write_report(document, found, out) if out is not None else []
    with reader_may_leave():
        print_document(document)
        for path in written:
            typer.echo(path, file=sys.stdout)
