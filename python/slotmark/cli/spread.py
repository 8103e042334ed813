"""`slotmark spread`: how much runs of one build differ."""

from pathlib import Path
from typing import Annotated

import typer

from slotmark.cli.console import reader_may_leave
from slotmark.cli.reports import AsJson, opened_sides, print_json, print_report
from slotmark.cli.show import Filters
from slotmark.places import file_of


def spread(
    builds: Annotated[
        list[str],
        typer.Argument(
            metavar="RUN,RUN...",
            help="Runs of one build, as A1,A2,A3; more builds of the same cluster and workload after it.",
        ),
    ],
    of: Annotated[str, typer.Option("--of", metavar="NAME", help="Name of the table: the cluster or the machine.")],
    out: Annotated[
        Path | None,
        typer.Option(
            "-o",
            "--out",
            metavar="FILE",
            help="Write the table there, for `compare --run-to-run FILE`.",
            parser=file_of,
        ),
    ] = None,
    filters: Filters = None,
    as_json: AsJson = False,
) -> None:
    """Measure how much runs of one build differ, metric by metric, and keep it as a table."""
    from slotmark.compare.run_to_run.spread_table import refuse_simulated, write_spread_table
    from slotmark.compare.spread import spread as measure
    from slotmark.metrics import parse_filters
    from slotmark.report import spread_document

    opened = opened_sides("spread", builds)
    if out is not None:
        manifests = [run.manifest for side in opened for run in side]
        refuse_simulated(" ".join(builds), manifests, "Leave -o out to see how much these differ.")
    chosen = None if filters is None else parse_filters(filters, opened[0][0].manifest.bench)
    found = measure(opened, of, filters=chosen)
    if out is not None:
        write_spread_table(found.table, out)
    with reader_may_leave():
        if as_json:
            print_json(found.printed)
        else:
            print_report(spread_document(found), [] if out is None else [out])
