"""`slotmark comment`: a comparison as a comment on a change."""

import re
import sys
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from slotmark.cli.console import progress, reader_may_leave
from slotmark.cli.gate import (
    EXIT_CODES,
    Deciding,
    EarlierStoreOption,
    RunToRunOption,
    deciding_policy,
    exit_code,
    spread_source,
)
from slotmark.cli.reports import opened_sides
from slotmark.cli.requests import from_requests
from slotmark.errors import ArgumentError
from slotmark.options import MOST_SEED
from slotmark.verdict import MOVED

if TYPE_CHECKING:
    from slotmark.compare import Comparison


class Form(StrEnum):
    """Forms of the comment; GitHub's and GitLab's are the same Markdown, of which neither makes mentions or links."""

    github = "github"
    gitlab = "gitlab"
    plain = "plain"


class Unless(StrEnum):
    """Findings without which no comment is printed."""

    hold = "hold"
    change = "change"


_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,59}")

END = "`slotmark compare BASE HEAD -o report` writes the whole report, with charts, definitions and manifests."


@from_requests
def comment(
    runs: Annotated[
        list[str],
        typer.Argument(
            metavar="BASE HEAD",
            help="The runs of the base and those of the change: a run folder, A1,A2 for several, or the folder that they are in.",
        ),
    ],
    policy: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="What decides, as of compare. Exit 0 to ship, 1 to hold, 3 to run again and where nothing is decided.",
        ),
    ] = None,
    run_to_run: RunToRunOption = None,
    earlier_store: EarlierStoreOption = None,
    form: Annotated[Form, typer.Option("--format", help="github, gitlab, or plain text.")] = Form.github,
    quiet_unless: Annotated[
        Unless | None,
        typer.Option(
            help="hold: print nothing but a HOLD. change: print nothing unless a metric is better or worse, or something isn't decided."
        ),
    ] = None,
    base_note: Annotated[
        str,
        typer.Option(metavar="TEXT", help="How the base was chosen, as 'newest run of main on this kind of machine'."),
    ] = "",
    name: Annotated[
        str,
        typer.Option(
            metavar="NAME",
            help="Name in the hidden mark of the first line, by which a later comment finds the one before it.",
        ),
    ] = "slotmark",
    seed: Annotated[int, typer.Option(min=0, max=MOST_SEED, help="Seed of the bootstrap.")] = 1,
) -> None:
    """Print a comparison as a comment on a change: the decision first, and below 60,000 characters."""
    from slotmark.compare import compare as compare_runs
    from slotmark.compare.matching.alike import unlike_machines
    from slotmark.report import comment_document
    from slotmark.report.renderers.markdown import short_markdown
    from slotmark.report.renderers.terminal import short_text

    if not _NAME.fullmatch(name):
        raise ArgumentError(
            f"--name '{name}': a name has up to 60 letters, digits, '.', '_' and '-', as in slotmark-ledger."
        )
    opened = opened_sides("comment", runs)
    if len(opened) != 2:
        raise ArgumentError(
            f"comment needs a base and a head, and {len(opened)} were named. Name A1,A2 for several runs of one."
        )
    deciding = Deciding(policy=policy, run_to_run=run_to_run, earlier_store=earlier_store)
    source = spread_source(run_to_run, earlier_store, [run for side in opened for run in side])
    chosen = deciding_policy(opened[0][0].manifest.bench, deciding)
    with progress("metrics") as step:
        found = compare_runs(opened, policy=chosen, run_to_run=source, seed=seed, progress=step)
    unlike = unlike_machines(found.sides)
    document = comment_document(found, base_note, unlike)
    neutral = bool(unlike) or found.decision is None
    if not _is_quiet(found, quiet_unless, neutral=neutral):
        if form is Form.plain:
            text = short_text(document)
        else:
            text = short_markdown(document, mark=f"<!-- slotmark comment: {name} -->", end=END)
        with reader_may_leave():
            sys.stdout.write(text)
    code = EXIT_CODES["run again"] if neutral and policy else exit_code(found, deciding)
    if code:
        raise typer.Exit(code)


def _is_quiet(found: "Comparison", unless: Unless | None, *, neutral: bool) -> bool:
    """Returns whether there is nothing to print a comment for."""
    if unless is None:
        return False
    if unless is Unless.hold:
        return neutral or found.decision is None or found.decision.answer != "hold"
    moved = any(one and one.verdict in MOVED for row in found.rows for one in row.differences)
    return not (neutral or moved or (found.decision and found.decision.answer != "ship"))
