"""`slotmark growth`: how metrics change with the size of what runs worked on."""

from typing import Annotated

import typer

from slotmark.cli.reports import AsJson, Out, opened_run, show_report


def growth(
    runs: Annotated[
        list[str], typer.Argument(metavar="RUN...", help="Run folders of one or more targets, at two sizes or more.")
    ],
    out: Out = None,
    as_json: AsJson = False,
) -> None:
    """Show how time and memory grow with what runs worked on, as the ledger's with the number of unspent outputs."""
    from slotmark.compare.growth import growth as growth_of
    from slotmark.report import growth_document

    found = growth_of([opened_run(run) for run in runs])
    document = growth_document(found)
    show_report(document, found, out, as_json=as_json)
