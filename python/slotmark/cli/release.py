"""`slotmark release`: several comparisons, one line."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from slotmark.cli.console import progress, talk
from slotmark.cli.gate import EXIT_CODES, find_earlier
from slotmark.cli.groups import Commands, group
from slotmark.cli.reports import AsJson, Out, share_freed_memory, show_report
from slotmark.options import MOST_SEED

if TYPE_CHECKING:
    from typer._click.core import Context


class _Deciding(Commands):
    """A group whose command `decide` may be left out: ``slotmark release FILE``."""

    def parse_args(self, ctx: "Context", args: list[str]) -> list[str]:
        """Takes what names no command as arguments of `decide`."""
        if args and args[0] not in {*self.commands, *ctx.help_option_names}:
            args = ["decide", *args]
        return super().parse_args(ctx, args)


app = group(
    "Decide about a release by several comparisons: one line, one report, one exit code. `release FILE` stands for `release decide FILE`.",
    _Deciding,
)

File = Annotated[Path, typer.Argument(metavar="FILE", help="Names the comparisons, in TOML: docs/release.md.")]


Store = Annotated[
    str | None,
    typer.Option(
        "--store",
        metavar="STORE",
        help="A store of runs: runs in it of the same bench, work and machine show how much runs of one build differ, where the file names nothing.",
    ),
]


@app.command(epilog="Example: slotmark release decide release.toml -o report")
def decide(
    file: File,
    out: Out = None,
    store: Store = None,
    seed: Annotated[int, typer.Option(min=0, max=MOST_SEED, help="Seed of the bootstrap.")] = 1,
    as_json: AsJson = False,
) -> None:
    """Compare all that a release depends on. Exit 0 to ship, 1 to hold, 3 to run again."""
    from slotmark.compare.release import read_release, release
    from slotmark.report import release_document

    asked = read_release(file)
    share_freed_memory()
    with progress("metrics") as step:
        found = release(
            asked,
            earlier=find_earlier(store) if store else None,
            seed=seed,
            progress=lambda name, done, total, what: step(done, total, f"{name}: {what}"),
        )
    show_report(
        release_document(found), found, out, as_json=as_json, last=lambda: typer.echo(found.line, file=sys.stdout)
    )
    if code := EXIT_CODES[found.answer]:
        if not sys.stdout.isatty():
            talk.remark(f"slotmark: {found.line}")
        raise typer.Exit(code)


@app.command(epilog="Example: slotmark release plan release.toml")
def plan(file: File, out: Out = None, store: Store = None, as_json: AsJson = False) -> None:
    """Print what a decision costs, in runs and hours, from the runs that are there. Nothing is decided."""
    from slotmark.compare.release import plan_release, read_release
    from slotmark.report import release_plan_document

    asked = read_release(file)
    share_freed_memory()
    found = plan_release(asked, earlier=find_earlier(store) if store else None)
    show_report(release_plan_document(found), found, out, as_json=as_json)
