"""`slotmark compare`: runs in, verdicts out."""

from collections.abc import Sequence
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from slotmark.cli.quantities import fraction
from slotmark.cli.show import Filters
from slotmark.errors import ArgumentError

if TYPE_CHECKING:
    from slotmark.run import Run


class Method(StrEnum):
    """How figures are computed."""

    slotmark = "slotmark"
    published = "published"


class Style(StrEnum):
    """How means are printed."""

    modern = "modern"
    org = "org"
    typst = "typst"


class FailOn(StrEnum):
    """What makes the command fail."""

    worse = "worse"
    inconclusive = "inconclusive"


def compare(
    runs: Annotated[
        list[str],
        typer.Argument(
            metavar="BASELINE CANDIDATE…",
            help="Two or more run folders, the baseline first; A1,A2 for several runs of one target.",
        ),
    ],
    out: Annotated[
        Path | None,
        typer.Option(
            "-o", "--out", metavar="DIR", help="Write report.html, report.pdf, report.md and report.json there."
        ),
    ] = None,
    method: Annotated[
        Method, typer.Option(help="published: the tables and formulas of the established report.")
    ] = Method.slotmark,
    margin: Annotated[
        list[str] | None,
        typer.Option(
            metavar="METRIC=SHARE", help="Equivalence margin of a metric, as blocks_per_s=5%; again for more."
        ),
    ] = None,
    filters: Filters = None,
    style: Annotated[
        Style, typer.Option(help="How means are printed: modern, or as the established tool's org and typst reports.")
    ] = Style.modern,
    seed: Annotated[int, typer.Option(min=0, help="Of the bootstrap.")] = 1,
    fail_on: Annotated[
        FailOn | None,
        typer.Option(help="worse: exit 1 when a metric is worse. inconclusive: also exit 3 when one can't be told."),
    ] = None,
    gate: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE", help="The metrics that --fail-on looks at, with their margins: TOML, a line a metric."
        ),
    ] = None,
) -> None:
    """Compare a baseline with one or more candidates, metric by metric, each with a verdict."""
    from slotmark.cli.gate import read_gate
    from slotmark.cli.ledger import block_comparison
    from slotmark.compare import compare as compare_runs
    from slotmark.metrics import parse_filters
    from slotmark.report import comparison_document, print_document, published_document, write_report
    from slotmark.run import open_run

    if len(runs) < 2:
        raise ArgumentError("compare needs a baseline and at least one candidate: name two run folders or more.")
    gated = read_gate(gate) if gate else {}
    margins = {**gated, **dict(_margin(text) for text in margin or [])}
    opened = [[open_run(path) for path in side.split(",") if path] for side in runs]
    chosen = None if filters is None else parse_filters(filters)
    if opened[0][0].manifest.bench == "ledger":
        comparison, document = block_comparison(_one_a_side(opened), margins, seed)
    else:
        comparison = compare_runs(opened, filters=chosen, margins=margins, seed=seed)
        document = comparison_document(comparison, style.value)
    if method is Method.published:
        printed = "org" if style is Style.modern else style.value
        document = published_document([run for side in opened for run in side], chosen, printed)
    print_document(document)
    if out is not None:
        for path in write_report(document, comparison, out):
            typer.echo(path)
    verdicts = {
        difference.verdict
        for row in comparison.rows
        for difference in row.differences
        if difference is not None and (not gated or row.metric.id in gated)
    }
    if (fail_on is not None or gated) and "worse" in verdicts:
        raise typer.Exit(1)
    if fail_on is FailOn.inconclusive and "inconclusive" in verdicts:
        raise typer.Exit(3)


def _one_a_side(sides: "Sequence[Sequence[Run]]") -> "list[Run]":
    if any(len(side) > 1 for side in sides):
        raise ArgumentError(
            "a ledger run holds all runs of its target: name one folder a side, and import its files into one."
        )
    return [side[0] for side in sides]


def _margin(text: str) -> tuple[str, float]:
    metric, equals, share = text.partition("=")
    if not equals:
        raise ArgumentError(f"--margin '{text}': expected METRIC=SHARE, as in blocks_per_s=5%.")
    return metric, fraction("--margin", share)
