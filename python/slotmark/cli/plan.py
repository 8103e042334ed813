"""`slotmark plan`: how many runs, or how long ones, a comparison needs."""

from pathlib import Path
from typing import Annotated

import typer

from slotmark.cli.console import reader_may_leave
from slotmark.cli.quantities import share_of_metric
from slotmark.cli.reports import AsJson, Out, opened_runs, print_json, print_report
from slotmark.cli.show import Filters


def plan(
    runs: Annotated[
        list[Path],
        typer.Argument(
            metavar="RUN...",
            help="One or more run folders of one target, that differ by chance alone, or a folder of such.",
        ),
    ],
    detect: Annotated[
        list[str] | None,
        typer.Option(
            metavar="METRIC=SHARE",
            help="A difference that is to be found, as adopted_by_096=2%; again for more.",
        ),
    ] = None,
    out: Out = None,
    filters: Filters = None,
    as_json: AsJson = False,
) -> None:
    """Print the smallest differences that comparisons of such runs find, and how many runs a wanted one takes."""
    from slotmark.compare.plan import plan as plan_runs
    from slotmark.metrics import parse_filters
    from slotmark.report import plan_document, write_report

    wanted = dict(share_of_metric("--detect", text, "adopted_by_096=2%") for text in detect or [])
    opened = opened_runs(runs)
    chosen = None if filters is None else parse_filters(filters, opened[0].manifest.bench)
    found = plan_runs(opened, detect=wanted, filters=chosen)
    document = plan_document(found)
    written = write_report(document, found, out) if out is not None else []
    with reader_may_leave():
        if as_json:
            print_json(found)
        else:
            print_report(document, written)
