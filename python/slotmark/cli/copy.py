"""`slotmark copy`: a run from one place to another."""

from typing import Annotated

import typer

from slotmark.places import place


def copy(
    run: Annotated[str, typer.Argument(metavar="RUN", help="A run folder, or its URL in an object store.")],
    to: Annotated[str, typer.Argument(metavar="PLACE", help="The new run folder, or its URL in an object store.")],
) -> None:
    """Copy a run between folders and object stores; whole or not at all, and checked by the digests in run.json."""
    from slotmark.run import copy_run

    typer.echo(copy_run(place(run), place(to)).place)
