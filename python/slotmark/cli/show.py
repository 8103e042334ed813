"""`slotmark show` and `slotmark samples`: one run by itself."""

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from slotmark.cli.reports import AsJson, opened_run, print_json
from slotmark.errors import ArgumentError, unwritten
from slotmark.places import file_of


class Format(StrEnum):
    """The format in which samples are written."""

    parquet = "parquet"
    csv = "csv"


Filters = Annotated[
    list[str] | None,
    typer.Option(
        "--filter",
        metavar="NAME",
        help="Which blocks and slots of a cluster run to analyse, instead of its profile's filters: a named set, a condition as 'EpochGEq 2', or none; again for more.",
    ),
]


def show(
    run: Annotated[str, typer.Argument(metavar="RUN", help="A run folder, or its URL in an object store.")],
    filters: Filters = None,
    as_json: AsJson = False,
) -> None:
    """Print a run's manifest, its warnings, and all its metrics."""
    from slotmark.compare import alone, show_run
    from slotmark.metrics import parse_filters
    from slotmark.report import print_document, run_document

    opened = opened_run(run)
    chosen = None if filters is None else parse_filters(filters, opened.manifest.bench)
    if as_json:
        print_json(alone(opened, filters=chosen))
    else:
        print_document(run_document(show_run(opened, chosen)))


def samples(
    run: Annotated[str, typer.Argument(metavar="RUN", help="A run folder, or its URL in an object store.")],
    metric: Annotated[
        str, typer.Argument(metavar="METRIC", help="A metric's id, or a relation of the catalogue, as blocks.")
    ],
    form: Annotated[
        Format | None,
        typer.Option("--format", help="parquet or csv; by default by the end of the file's name, else csv."),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(
            "-o",
            "--out",
            metavar="FILE",
            help="The new file, as samples.csv or samples.parquet; by default standard output.",
            parser=file_of,
        ),
    ] = None,
    filters: Filters = None,
) -> None:
    """Write the samples of one metric, with what each belongs to."""
    import sys

    import pyarrow.parquet

    from slotmark.metrics import Analysis, parse_filters
    from slotmark.report.renderers.csv import write_csv
    from slotmark.whole_files import written_whole

    form = _format(form, out)
    if out is None and form is Format.parquet and sys.stdout.isatty():
        raise ArgumentError("--format parquet is nothing for a terminal: name a file with -o.")
    if out is not None and out.exists():
        raise ArgumentError(f"{out}: already there. Choose another -o or move it away.")
    opened = opened_run(run)
    chosen = None if filters is None else parse_filters(filters, opened.manifest.bench)
    with Analysis(opened, filters=chosen) as analysis:
        known = metric in analysis.catalogue.relations
        table = analysis.relation(metric) if known else analysis.named_samples(metric).rows
    write = write_csv if form is Format.csv else pyarrow.parquet.write_table
    if out is None:
        write(table, sys.stdout.buffer)
        return
    try:
        out.parent.mkdir(parents=True, exist_ok=True)
        with written_whole(out) as [partial]:
            write(table, partial)
    except OSError as error:
        raise ArgumentError(unwritten(out, error)) from error


def _format(given: Format | None, out: Path | None) -> Format:
    """The format that is given, else by the end of the file's name, else CSV. ArgumentError where the name ends with another format than the given one, or with none of them."""
    end = out.suffix.removeprefix(".") if out else ""
    if given is None:
        if end and end not in list(Format):
            raise ArgumentError(
                f"-o {out}: expected a name that ends with .csv or .parquet, which samples are written as. Name another file, or give --format."
            )
        return Format(end) if end else Format.csv
    if end in list(Format) and end != given:
        raise ArgumentError(
            f"-o {out}: --format {given} isn't what the name ends with. Leave --format out, or name another file."
        )
    return given
