"""`slotmark compare`: runs in, verdicts out."""

import sys
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from slotmark.cli.console import progress, talk
from slotmark.cli.gate import Deciding, deciding_policy, exit_code, refuse_blind_gate, spread_source
from slotmark.cli.reports import AsJson, Out, opened_sides, show_report
from slotmark.cli.requests import from_requests
from slotmark.cli.show import Filters
from slotmark.cli.until_decided import Until, decided_by_rounds, refuse_unasked
from slotmark.errors import ArgumentError
from slotmark.options import MOST_SEED, share_of_metric

if TYPE_CHECKING:
    from collections.abc import Sequence

    import msgspec

    from slotmark.compare import Comparison
    from slotmark.report.document import Document
    from slotmark.run import Run


class Method(StrEnum):
    """The method by which figures are computed."""

    slotmark = "slotmark"
    published = "published"


class Style(StrEnum):
    """The style in which means are printed."""

    modern = "modern"
    org = "org"
    typst = "typst"


_UNDECIDED = {
    True: "NO DECISION: --method published makes none without --policy, --gate or --fail-on.",
    False: "NO DECISION: no metric that was compared is decisive.",
}
"""The last line where nothing is decided, by whether nothing was compared."""


@from_requests
def compare(
    runs: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="BASELINE CANDIDATE...",
            help="Two or more run folders, the baseline first. Several runs of one target are named as A1,A2, or by the folder that they are in.",
        ),
    ] = None,
    out: Out = None,
    method: Annotated[
        Method, typer.Option(help="published: the tables and formulas of the established report.")
    ] = Method.slotmark,
    margin: Annotated[
        list[str] | None,
        typer.Option(
            metavar="METRIC=SHARE",
            help="Equivalence margin of a metric, as blocks_per_s=5%; again for more. A report's data dictionary has ids and margins.",
        ),
    ] = None,
    filters: Filters = None,
    style: Annotated[
        Style | None,
        typer.Option(
            help="How means are printed: modern, or as the established tool's org and typst reports; by default modern, with --method published org.",
        ),
    ] = None,
    seed: Annotated[
        int, typer.Option(min=0, max=MOST_SEED, help="Seed of the bootstrap, and of the order within rounds.")
    ] = 1,
    *,
    deciding: Deciding,
    until: Until,
    as_json: AsJson = False,
) -> None:
    """Compare a baseline with one or more candidates, metric by metric, each with a verdict; or make runs of both until that is decided."""
    from slotmark.compare import compare as compare_runs
    from slotmark.compare import policy_text
    from slotmark.compare.matching.sides import name_sides, refuse_unlike_runs
    from slotmark.metrics import catalogue, parse_filters
    from slotmark.published import publication
    from slotmark.report import comparison_document
    from slotmark.report.sections.published import published_document

    named = runs or []
    refuse_unasked(until, named, deciding, published=method is Method.published)
    if method is Method.published and style is Style.modern:
        raise ArgumentError(
            "--style modern: --method published prints as the established tool. Give org or typst, or leave it out."
        )
    means = style or (Style.org if method is Method.published else Style.modern)
    margins = dict(share_of_metric("--margin", text, "blocks_per_s=5%") for text in margin or [])
    if until.until_decided:
        result = decided_by_rounds(until, deciding, out, filters=filters, margins=margins, seed=seed)
        _end(result, comparison_document(result, means.value), result, deciding, out, as_json=as_json)
        return
    if deciding.show_policy and named:
        typer.echo(policy_text(opened_sides("compare", named[:1])[0][0].manifest.bench), nl=False)
        return
    opened = _opened(named)
    bench = opened[0][0].manifest.bench
    entries = catalogue(bench)
    if filters is not None and not entries.filterable:
        raise ArgumentError(f"--filter: {bench} runs have nothing to filter. Leave it out.")
    if style not in (None, Style.modern) and not entries.styled:
        raise ArgumentError(f"--style: reports of {bench} runs have only one. Leave it out.")
    policy = deciding_policy(bench, deciding)
    chosen = None if filters is None else parse_filters(filters, bench)
    _remark_noise(opened, deciding.noise)
    source = spread_source(deciding.run_to_run, deciding.earlier_store, [run for side in opened for run in side])

    def compared() -> "Comparison":
        with progress("metrics") as step:
            return compare_runs(
                opened,
                filters=chosen,
                margins=margins,
                policy=policy,
                run_to_run=source,
                seed=seed,
                progress=step,
            )

    if method is Method.published:
        refuse_unlike_runs(opened)
        names = iter(side.name for side in name_sides([[run] for side in opened for run in side]))
        sides = [{next(names): run for run in side} for side in opened]
        published = publication(sides, chosen, means.value)
        result, document = published.report, published_document(published)
        comparison = compared() if deciding.gates else None
    else:
        result = comparison = compared()
        document = comparison_document(comparison, means.value)
    if deciding.gate and comparison:
        refuse_blind_gate(comparison, policy)
    _end(result, document, comparison, deciding, out, as_json=as_json)


def _end(
    result: "msgspec.Struct",
    document: "Document",
    comparison: "Comparison | None",
    deciding: Deciding,
    out: Path | None,
    *,
    as_json: bool,
) -> None:
    """Writes and prints the report, and ends by the decision, whose line is the last."""
    line = _line(comparison, deciding)
    show_report(document, result, out, as_json=as_json, last=lambda: typer.echo(line, file=sys.stdout))
    ended = exit_code(comparison, deciding) if comparison else 0
    if ended:
        if not sys.stdout.isatty():
            talk.remark(f"slotmark: {line}")
        raise typer.Exit(ended)


def _line(comparison: "Comparison | None", deciding: Deciding) -> str:
    """The last line: the decision, or that there is none where one was asked for; else the ranking."""
    asked = comparison.decision if comparison and deciding.gates else comparison
    return asked.line if asked and asked.line else _UNDECIDED[comparison is None]


def _opened(named: "Sequence[str]") -> "list[list[Run]]":
    if not named:
        raise ArgumentError("compare: name two or more run folders, BASELINE CANDIDATE, or give --until-decided.")
    opened = opened_sides("compare", named)
    if len(named) < 2 and not all(run.manifest.mixed for run in opened[0]):
        raise ArgumentError("compare needs a baseline and at least one candidate: name two run folders or more.")
    return opened


def _remark_noise(groups: "Sequence[Sequence[Run]]", file: Path | None) -> None:
    from slotmark.compare.run_to_run.noise import beforehand

    for line in beforehand(groups, file):
        talk.remark(f"slotmark: {line}")
