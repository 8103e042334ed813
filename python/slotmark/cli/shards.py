"""Common parts of commands whose work can be shared: the option, the folder, and what is printed of a shard."""

import shlex
from typing import TYPE_CHECKING, Annotated

import typer

from slotmark.errors import ArgumentError
from slotmark.places import Place
from slotmark.words import counted

if TYPE_CHECKING:
    from slotmark.engine import ShardDone

ShardOption = Annotated[
    str | None,
    typer.Option(
        "--shard",
        metavar="N/OF",
        help="Do only the N-th of OF parts of the work, on any machine, into -o; then run slotmark merge.",
    ),
]


def shared_folder(out: Place | None, engine: str = "local") -> Place:
    """The folder that shards share. ArgumentError where none is named, or another engine."""
    if engine != "local":
        raise ArgumentError("--shard and --engine: a shard is done on this machine; leave one out.")
    if out is None:
        raise ArgumentError("--shard: expected -o with the folder that all shards share, as -o sweep.")
    return out


def print_shard(done: "ShardDone", out: Place, *, as_json: bool) -> None:
    """Prints what became of a shard, and the command that merges all once none is missing."""
    import msgspec

    if as_json:
        typer.echo(msgspec.json.encode(done).decode())
        return
    before = f", {done.found:,} of them before" if done.found else ""
    typer.echo(
        f"Shard {done.shard}: {counted(done.pieces, 'piece')} finished{before}; of all shards {done.missing:,} are missing."
    )
    if not done.missing:
        typer.echo(f"Merge them: slotmark merge {shlex.quote(str(out))} -o OUT")
