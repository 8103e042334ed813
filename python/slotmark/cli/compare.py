"""`slotmark compare`: runs in, verdicts out."""

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from slotmark.cli.quantities import fraction
from slotmark.errors import ArgumentError


class Method(StrEnum):
    """How figures are computed."""

    slotmark = "slotmark"
    published = "published"


class Gate(StrEnum):
    """What makes the command fail."""

    worse = "worse"
    inconclusive = "inconclusive"


def compare(
    runs: Annotated[
        list[Path], typer.Argument(metavar="BASELINE CANDIDATE…", help="Two or more run folders, the baseline first.")
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
    seed: Annotated[int, typer.Option(min=0, help="Of the bootstrap.")] = 1,
    fail_on: Annotated[
        Gate | None,
        typer.Option(help="worse: exit 1 when a metric is worse. inconclusive: also exit 3 when one can't be told."),
    ] = None,
) -> None:
    """Compare a baseline with one or more candidates, metric by metric, each with a verdict."""
    from slotmark.cli.ledger import block_comparison
    from slotmark.compare import compare as compare_runs
    from slotmark.metrics.published import published_tables
    from slotmark.report import comparison_document, print_document, published_document, write_report
    from slotmark.run import open_run

    if len(runs) < 2:
        raise ArgumentError("compare needs a baseline and at least one candidate: name two run folders or more.")
    opened = [open_run(path) for path in runs]
    margins = dict(_margin(text) for text in margin or [])
    if opened[0].manifest.bench == "ledger":
        comparison, document = block_comparison(opened, margins, seed)
    else:
        comparison = compare_runs(opened, margins=margins, seed=seed)
        document = comparison_document(comparison)
    if method is Method.published:
        document = published_document(published_tables(opened))
    print_document(document)
    if out is not None:
        for path in write_report(document, comparison, out):
            typer.echo(path)
    verdicts = {
        difference.verdict for row in comparison.rows for difference in row.differences if difference is not None
    }
    if fail_on is not None and "worse" in verdicts:
        raise typer.Exit(1)
    if fail_on is Gate.inconclusive and "inconclusive" in verdicts:
        raise typer.Exit(3)


def _margin(text: str) -> tuple[str, float]:
    metric, equals, share = text.partition("=")
    if not equals:
        raise ArgumentError(f"--margin '{text}': expected METRIC=SHARE, as in blocks_per_s=5%.")
    return metric, fraction("--margin", share)
