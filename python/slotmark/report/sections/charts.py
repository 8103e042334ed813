"""The charts of a comparison, with what a reader needs to read them; :mod:`slotmark.report.charts` draws them."""

from collections.abc import Sequence

from slotmark.compare.result import Comparison
from slotmark.compare.results.details import Blocks, Swept
from slotmark.compare.results.rows import Row
from slotmark.metrics import catalogue
from slotmark.numbers import percent
from slotmark.report.document import Block, Figure, Paragraph
from slotmark.report.drawing import later
from slotmark.report.sections.cells import DIRECTION, by_section, on_log_axis, titled
from slotmark.report.sections.seeds import main_rows

CLIPPED = 0.995
"""The quantile at which the axis of a distribution ends on a linear scale: a few far samples would squeeze all others."""

MOST_IN_SMALL = 5
"""Sides whose lines, rows and names can be distinguished in a small chart."""


def charts(comparison: Comparison) -> list[Block]:
    """Each kind of chart after a paragraph that explains how to read it."""
    kinds = [_dots(comparison), _distributions(comparison), _timelines(comparison), _courses(comparison)]
    for detail in comparison.details:
        match detail:
            case Blocks():
                kinds.append(_blocks(comparison, detail))
            case Swept():
                kinds.append(_swept(comparison, detail))
    return [block for kind in kinds for block in kind]


def _of_rows(comparison: Comparison, chart: str) -> list[Row]:
    return [row for row in comparison.rows if row.metric.chart == chart and any(row.summaries)]


def _dots(comparison: Comparison) -> list[Block]:
    names = _names(comparison)
    figures = [
        Figure(
            titled(row),
            f"{row.metric.definition} {DIRECTION[row.metric.better].capitalize()}.",
            later("dots", row, names),
            small=True,
        )
        for row in _of_rows(comparison, "dots")
    ]
    return _read(
        "Every sample as a dot. The mark is the median, the band its interval; hollow dots lie more than 3 scaled MADs from the median.",
        figures,
    )


def _distributions(comparison: Comparison) -> list[Block]:
    names = _names(comparison)
    rows = [row for row in _of_rows(comparison, "cdf") if any(one and one.centiles for one in row.summaries)]
    figures = [
        Figure(titled(row), row.metric.definition, later("cdf", row, names, CLIPPED), small=True) for row in rows
    ]
    return _read(how_distributions_are_read(rows, comparison.bench), figures)


def how_distributions_are_read(rows: Sequence[Row], bench: str) -> str:
    """Returns what curves, shades and ends of axes are in charts of some rows of one bench."""
    entries = catalogue(bench)
    member = entries.key(entries.members.column).word
    several = {summary.runs > 1 for row in rows for summary in row.summaries if summary and summary.band}
    between = f"{member}, or run where a side has several" if len(several) > 1 else "run" if True in several else member
    band = f" Shaded: from the lowest to the highest {between}." if several else ""
    cut = "" if all(map(on_log_axis, rows)) else f" Linear axes end where {percent(CLIPPED)} of samples do."
    return f"The share of samples up to each value.{band}{cut}"


def _has_course(row: Row) -> bool:
    """Returns whether there is a line to draw: more than one point of any side."""
    return any(summary and len(summary.course) > 1 for summary in row.summaries)


def _timelines(comparison: Comparison) -> list[Block]:
    names = _names(comparison)
    figures = [
        Figure(titled(row), row.metric.definition, later("timeline", row, names), small=len(names) <= MOST_IN_SMALL)
        for row in _of_rows(comparison, "timeline")
        if _has_course(row)
    ]
    return _read("Over the course of an invocation. Thin lines: one invocation each; bold: their median.", figures)


def _courses(comparison: Comparison) -> list[Block]:
    entries = catalogue(comparison.bench)
    names = _names(comparison)
    rows = [row for row in comparison.rows if row.metric.course and _has_course(row)]
    figures = [
        Figure(
            f"{titled(row)} over the run",
            row.metric.definition,
            later("course", row, names, entries.key(row.metric.grain[0]).axis),
            small=True,
        )
        for row in rows
    ]
    return _read("Over the run: each point is the mean of a stretch of consecutive samples.", figures)


def _blocks(comparison: Comparison, blocks: Blocks) -> list[Block]:
    """Charts of the first metric: its distribution, its deciles, and block by block."""
    if not blocks.densities:
        return []
    metric, baseline = comparison.costs, comparison.baseline.name
    few = len(comparison.sides) <= MOST_IN_SMALL
    name = metric.name.lower()
    made = [
        Figure(
            "Distribution of costs",
            f"{metric.name} of blocks on a log axis, every side scaled to its highest peak. Blocks differ far more than builds do.",
            later("ridgeline", comparison, blocks),
            small=few,
        )
    ]
    made += [
        Figure(
            f"Speedup by percentile{': ' + title if title else ''}",
            f"Of {name}, in percent of {baseline}'s quantile; above 0 is faster. Quantiles are Harrell-Davis's; bars are intervals, each for its quantile alone.",
            later("percentiles", comparison, blocks, places),
            small=few,
        )
        for title, places in _facets(comparison).items()
        if any(blocks.shifts[place] for place in places)
    ]
    for place, side in enumerate(comparison.candidates):
        drawn = len(blocks.dots[place])
        which = "Every block" if drawn == blocks.blocks else f"{drawn:,} of {blocks.blocks:,} blocks, evenly by cost"
        made.append(
            Figure(
                f"Ratio by block: {side.name}",
                f"{which}: its ratio against {baseline}'s cost. Bands: the typical ratio of blocks of about one cost, with its interval.",
                later("ratios", comparison, blocks, place),
                small=True,
            )
        )
    if any(blocks.shifts):
        made.append(
            Figure(
                "Shift function",
                f"Ratio of quantiles at the baseline's deciles of {name}, with intervals, each for its quantile alone.",
                later("shift", comparison, blocks),
                small=few,
            )
        )
    return _read(
        f"{metric.name} per block, against {baseline}. Shaded areas or bars: intervals, not adjusted. The dashed line is no difference.",
        made,
    )


def _facets(comparison: Comparison) -> dict[str, list[int]]:
    """Candidates by the level of the first factor; all in one where there are no factors."""
    facets: dict[str, list[int]] = {}
    for place, side in enumerate(comparison.candidates):
        title = next((f"{name} {level}" for name, level in side.manifest.factors.items()), "")
        facets.setdefault(title, []).append(place)
    return facets


def _swept(comparison: Comparison, swept: Swept) -> list[Block]:
    rows = main_rows(comparison)
    metrics = [row.metric.name for row in rows]
    figures = [
        Figure(
            f"{section or 'Means'} by {swept.parameter}",
            f"{', '.join(row.metric.name for row in inside)}.",
            later("swept", inside, swept, metrics),
        )
        for section, inside in by_section(rows).items()
    ]
    several = any(summary and summary.n > 1 for row in rows for summary in row.summaries)
    band = " Shaded: from the lowest to the highest seed." if several else ""
    return _read(f"Means over seeds for each value of {swept.parameter}.{band}", figures)


def _names(comparison: Comparison) -> list[str]:
    return [side.name for side in comparison.sides]


def _read(how: str, figures: Sequence[Figure]) -> list[Block]:
    """Figures, after how to read them."""
    return [Paragraph(how), *figures] if figures else []
