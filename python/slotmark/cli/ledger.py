"""`slotmark ledger`: import what db-analyser and beacon recorded."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from slotmark.cli.console import talk
from slotmark.errors import ArgumentError

if TYPE_CHECKING:
    pass

app = typer.Typer(
    help="Ledger operations: import what db-analyser and beacon recorded.", no_args_is_help=True, rich_markup_mode=None
)


@app.callback()
def _root() -> None:
    """Keeps `import` a command of its own."""


@app.command("import", epilog="Example: slotmark ledger import base-1.csv base-2.csv --target base -o runs/base")
def import_(
    files: Annotated[
        list[Path],
        typer.Argument(
            metavar="FILE...|STUDY", help="Files of one target, each one process; or a folder with a study.toml."
        ),
    ],
    out: Annotated[
        Path, typer.Option("-o", "--out", metavar="DIR", help="The new run folder; of a study, where to put them.")
    ],
    target: Annotated[str | None, typer.Option(help="The target's name; the folder's by default.")] = None,
    factor: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME=LEVEL", help="What distinguishes the target, as ghc=9.6; again for more."),
    ] = None,
    subtract_table_read: Annotated[
        bool, typer.Option("--subtract-table-read", help="Take the table read out of totals that hold it.")
    ] = False,
) -> None:
    """Import files of db-analyser --benchmark-ledger-ops or beacon, of any age, as a run to compare."""
    from slotmark.benches.ledger.importing import Recording, factors_of, import_recordings
    from slotmark.benches.ledger.study import read_study

    folders = [path for path in files if path.is_dir()]
    if folders:
        if len(files) > 1 or target or factor:
            raise ArgumentError(
                f"{folders[0]} is a folder: a study stands alone, and its study.toml names targets and factors."
            )
        study = read_study(folders[0], out)
        runs = import_recordings(
            study.recordings, subtract_table_read=subtract_table_read, machine=study.machine, session=study.session
        )
    else:
        recording = Recording(target=target or out.name, files=files, factors=factors_of(factor or []), out=out)
        runs = import_recordings([recording], subtract_table_read=subtract_table_read)
    for run in runs:
        work, processes = run.manifest.workload, run.manifest.parameters["processes"]
        for doubt in run.manifest.warnings:
            talk.remark(f"! {doubt.subject}: {doubt.text}")
        typer.echo(
            f"{run.path}: {processes} process{'es' if processes > 1 else ''}, {work['blocks']} blocks, "
            f"slots {work['first slot']} to {work['last slot']}"
        )
