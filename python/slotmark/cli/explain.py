"""`slotmark explain`: where the differences between two sides come from."""

from typing import Annotated

import typer

from slotmark.cli.reports import AsJson, Out, opened_sides, show_report
from slotmark.cli.show import Filters


def explain(
    baseline: Annotated[
        str,
        typer.Argument(
            metavar="RUN", help="The baseline's run folder; A1,A2 or the folder they are in for several of one target."
        ),
    ],
    candidate: Annotated[str, typer.Argument(metavar="RUN", help="The candidate's, likewise.")],
    out: Out = None,
    filters: Filters = None,
    as_json: AsJson = False,
) -> None:
    """Split the difference of a metric into the steps of which it is made, and name the one that makes most of it."""
    from slotmark.compare.explain import explain as explain_runs
    from slotmark.metrics import parse_filters
    from slotmark.report import explanation_document

    opened = opened_sides("explain", (baseline, candidate))
    chosen = None if filters is None else parse_filters(filters, opened[0][0].manifest.bench)
    found = explain_runs(*opened, filters=chosen)
    document = explanation_document(found)
    show_report(document, found, out, as_json=as_json)
