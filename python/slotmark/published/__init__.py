"""Figures and tables as established tools and reports compute and print them, from the same runs: ``--method published``.

A method is named after the tool or the report. The catalogue of a bench says which one has published tables of its runs.
"""

from collections.abc import Callable, Mapping, Sequence

from slotmark.errors import ComparisonError
from slotmark.metrics import Filter, catalogue, filters_of_run
from slotmark.published import chainsync_2026, ghc_study, locli
from slotmark.published.report import (
    Printed,
    Publication,
    PublishedCell,
    PublishedReport,
    PublishedSide,
    PublishedTable,
)
from slotmark.run import Run, title_with_origin

Method = Callable[[Sequence[Mapping[str, Run]], Sequence[Filter] | None, str], Printed]
"""From the arguments of :func:`published_report` to what is printed."""

METHODS: Mapping[str, Method] = {
    "locli": locli.printed,
    "chainsync-benchmark-2026": chainsync_2026.printed,
    "ghc-study": ghc_study.printed,
}
"""The methods by the names that catalogues use."""

__all__ = [
    "METHODS",
    "Publication",
    "PublishedCell",
    "PublishedReport",
    "PublishedSide",
    "PublishedTable",
    "publication",
    "published_report",
]


def publication(
    sides: Sequence[Mapping[str, Run]], filters: Sequence[Filter] | None = None, style: str = "org"
) -> Publication:
    """The report that the established tool or report makes of these runs, by its own formulas and roundings.

    Args:
        sides: The runs of each side by the names to print, all of one bench; the first side is the reference.
        filters: What is analysed, for benches with filters; None for what each run's own profile says.
        style: How cells are printed, of methods that have several styles: ``org`` or ``typst``.

    Raises:
        ComparisonError: There are no published tables of this bench, or the method can't be applied to these runs.
        RunError: A run is damaged.
    """
    firsts = [next(iter(side.values())) for side in sides]
    bench = firsts[0].manifest.bench
    name = catalogue(bench).published
    if not name:
        raise ComparisonError(f"--method published: there are no published tables of {bench}. Leave it out.")
    printed = METHODS[name](sides, filters, style)
    report = PublishedReport(
        method=name,
        title=title_with_origin(
            printed.title or "By the published method", (run.manifest for side in sides for run in side.values())
        ),
        said=f"{printed.said}; slotmark's own method is the default.",
        sides=[
            PublishedSide(
                list(side),
                [run.manifest for run in side.values()],
                [str(one) for one in (filters_of_run(first) if filters is None else filters)],
            )
            for side, first in zip(sides, firsts, strict=True)
        ],
        compared=printed.compared,
        manifest=printed.manifest,
        tables=printed.tables,
    )
    return Publication(report=report, charted=printed.charted, metrics=printed.metrics)


def published_report(
    sides: Sequence[Mapping[str, Run]], filters: Sequence[Filter] | None = None, style: str = "org"
) -> PublishedReport:
    """The tables of :func:`publication` alone."""
    return publication(sides, filters, style).report
