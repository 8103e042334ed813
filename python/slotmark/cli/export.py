"""`slotmark export`: figures of runs in the formats of other tools."""

import sys
from enum import StrEnum
from typing import Annotated

import typer

from slotmark.cli.console import reader_may_leave
from slotmark.cli.reports import opened_runs
from slotmark.cli.show import Filters
from slotmark.errors import ArgumentError


class Format(StrEnum):
    """The formats."""

    bmf = "bmf"
    github_action_benchmark = "github-action-benchmark"
    benchfmt = "benchfmt"
    openmetrics = "openmetrics"


class Better(StrEnum):
    """The direction in which a metric is better."""

    HIGHER = "higher"
    LOWER = "lower"


def export(
    runs: Annotated[
        list[str],
        typer.Argument(metavar="RUN...", help="Run folders, folders of them, or their URLs in an object store."),
    ],
    form: Annotated[
        Format,
        typer.Option(
            "--format",
            help="bmf: for Bencher. github-action-benchmark: for that action. benchfmt: for Go's benchstat. openmetrics: for Prometheus.",
        ),
    ],
    better: Annotated[
        Better | None,
        typer.Option(help="Only metrics for which this is better; github-action-benchmark takes a file of each."),
    ] = None,
    filters: Filters = None,
) -> None:
    """Print the figures of runs in the format of another tool, each run by itself."""
    from slotmark.compare import alone
    from slotmark.metrics import parse_filters
    from slotmark.report.exports import FORMATS, figures

    if form is Format.github_action_benchmark and better is None:
        raise ArgumentError(
            "--format github-action-benchmark: the action takes a file per direction. Add --better lower (its tool customSmallerIsBetter) or --better higher (customBiggerIsBetter)."
        )
    opened = opened_runs(runs)
    shown = [
        alone(run, filters=None if filters is None else parse_filters(filters, run.manifest.bench)) for run in opened
    ]
    found = [one for one in figures(shown) if better is None or one.metric.better == better]
    with reader_may_leave():
        sys.stdout.write(FORMATS[form](found))
