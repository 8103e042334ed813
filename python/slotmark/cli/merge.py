"""`slotmark merge`: the answer that shards made together."""

from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from slotmark.cli.reports import AsJson, report_runs


def merge(
    shards: Annotated[Path, typer.Argument(metavar="DIR", help="The folder that slotmark predict --shard wrote to.")],
    out: Annotated[
        Path | None, typer.Option("-o", "--out", metavar="DIR", help="Also write report.html, .pdf, .md and .json.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Merge what the shards of a prediction simulated: the report that a single call would give."""
    from slotmark.benches.cluster.question import merged

    report_runs(partial(merged, shards), out, unit="pieces", doing="reading", as_json=as_json)
