"""`slotmark check`: whether a run's files are what its manifest says."""

from pathlib import Path
from typing import Annotated

import typer


def check(
    runs: Annotated[list[Path], typer.Argument(metavar="RUN...", help="Run folders.")],
) -> None:
    """Compare every table's file with the sizes, rows and digests in run.json; exit 2 at the first that differs."""
    from slotmark.run import check_run

    for run in runs:
        files = check_run(run)
        typer.echo(f"{run}: {files} file{'s' if files != 1 else ''} as recorded")
