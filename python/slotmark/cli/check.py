"""`slotmark check`: compares a run's files with its manifest."""

import json
from typing import Annotated

import typer


def check(
    runs: Annotated[list[str], typer.Argument(metavar="RUN...", help="Run folders, or URLs of runs in object stores.")],
    as_json: Annotated[bool, typer.Option("--json", help="Print a line of JSON per run.")] = False,
) -> None:
    """Compare every table's file with the sizes, rows and digests in run.json; exit 2 at the first that differs."""
    from slotmark.run import check_run

    for run in runs:
        files = check_run(run)
        if as_json:
            typer.echo(json.dumps({"run": run, "files": files}))
            continue
        typer.echo(f"{run}: {files} file{'s' if files != 1 else ''} as recorded")
