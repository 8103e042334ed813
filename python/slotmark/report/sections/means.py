"""Tables of metrics whose means over many samples are compared, section by section, and the centiles of distributions."""

from collections.abc import Sequence

import msgspec

from slotmark.compare.result import Comparison
from slotmark.compare.results.rows import Difference, Row
from slotmark.numbers import number, percent_change, plain, point_unit, readable, signed, signed_interval
from slotmark.published.styles import STYLES, Style
from slotmark.report.document import Cell, Table, details, left, right
from slotmark.report.sections.cells import (
    by_section,
    headed,
    link_of,
    margin_cell,
    metric_cell,
    not_compared,
    p_cell,
    rests_on,
    verdict_cell,
)

SHOWN_CENTILES = (0.5, 0.8, 0.9, 0.95, 0.99, 0.999, 1.0)


def mean_tables(comparison: Comparison, style: str = "modern") -> list[Table]:
    """One table per section and candidate: both means, their difference with its interval, and the verdict.

    Args:
        comparison: The comparison to show.
        style: How values, differences and percentages are printed: ``modern``, or as the established tool does, ``org`` or ``typst``.
    """
    rows = [row for row in comparison.rows if row.quantity == "mean" and not row.predicted and any(row.summaries)]
    return [
        Table(
            ": ".join(filter(None, (section, side.name if len(comparison.candidates) > 1 else ""))),
            [
                *left("mean"),
                *right(comparison.baseline.name, side.name),
                *details("Δ"),
                *right("Δ\N{NO-BREAK SPACE}%", "interval of Δ\N{NO-BREAK SPACE}%", "margin"),
                *details("adj. p"),
                *left("verdict"),
            ],
            [_cells(comparison, row, place, STYLES.get(style)) for row in inside],
            [_counts(inside, place, comparison)],
            folded=comparison.decision is not None,
        )
        for section, inside in by_section(rows).items()
        for place, side in enumerate(comparison.candidates)
    ]


def centile_tables(comparison: Comparison) -> list[Table]:
    """The centiles of every distribution that is drawn, as numbers."""
    rows = [
        [
            Cell(headed(row.metric, readable(row.metric.unit)[1])),
            Cell(side.name),
            Cell(f"{summary.n:,}"),
            *(Cell(number(readable(row.metric.unit)[0] * dict(summary.centiles)[share])) for share in SHOWN_CENTILES),
        ]
        for row in comparison.rows
        for side, summary in zip(comparison.sides, row.summaries, strict=True)
        if summary and summary.centiles
    ]
    columns = [*left("metric", "run"), *right("n", *(plain(share) for share in SHOWN_CENTILES))]
    return [Table("Centiles", columns, rows, wide=True)] if rows else []


def _cells(comparison: Comparison, row: Row, place: int, style: Style | None) -> list[Cell]:
    base, theirs, difference = row.summaries[0], row.summaries[place + 1], row.differences[place]
    metric = row.metric
    scale, unit = (1.0, metric.unit) if style else readable(metric.unit)
    values = [_mean(row, side, style, scale) for side in (0, place + 1)]
    name = metric_cell(metric, unit, link_of(comparison, row, place))
    if row.part:
        name = msgspec.structs.replace(name, text=f"{name.text}: {row.part}")
    if base is None or theirs is None or difference is None:
        return [name, *values, Cell("-"), Cell("-"), *[Cell("")] * 3, not_compared(base, theirs)]
    if style:
        ours, others = (row.levels[side] or 0.0 for side in (0, place + 1))
        change = [style.delta(ours, others, metric.width), style.percent(ours, others, metric.width)]
    else:
        delta, ratio = difference.delta, difference.ratio
        change = [
            signed(scale * delta.estimate) if delta else "-",
            percent_change(ratio.estimate) if ratio else "-",
        ]
    return [
        name,
        *values,
        *map(Cell, change),
        _reach(difference, scale, unit),
        margin_cell(metric, difference),
        p_cell(difference),
        verdict_cell(difference),
    ]


def _reach(difference: Difference, scale: float, unit: str) -> Cell:
    """The interval of the difference, in percent of the baseline; in the unit for those who ask, or where there is no percentage."""
    delta, ratio = difference.delta, difference.ratio
    words = f"{signed_interval(delta, scale)} {point_unit(unit)}".strip() if delta else ""
    if ratio is None:
        return Cell(words or "-", remark=rests_on(difference.basis))
    remark = ", ".join(filter(None, (words, rests_on(difference.basis))))
    return Cell(f"{percent_change(ratio.low)} to {percent_change(ratio.high)}", remark=remark)


def _mean(row: Row, side: int, style: Style | None, scale: float) -> Cell:
    summary, level = row.summaries[side], row.levels[side]
    if summary is None or level is None:
        return Cell("-")
    text = style.cell(level, row.metric.width) if style else number(scale * level)
    runs = f" of {summary.runs} runs" if summary.runs > 1 else ""
    mean = "" if row.fitted is None else f", mean {number(scale * summary.mean)}"
    return Cell(text, remark=f"{summary.n:,} samples{runs}{mean}, standard deviation {number(scale * summary.sd)}")


def _counts(rows: Sequence[Row], place: int, comparison: Comparison) -> str:
    """Returns the numbers of samples that the section rests on."""
    sides = (comparison.baseline.name, 0), (comparison.candidates[place].name, place + 1)
    parts = []
    for name, index in sides:
        present = [summary for row in rows if (summary := row.summaries[index])]
        counts = sorted({summary.n for summary in present})
        runs = max((summary.runs for summary in present), default=1)
        span = "no" if not counts else f"{counts[0]:,}" if len(counts) == 1 else f"{counts[0]:,} to {counts[-1]:,}"
        parts.append(f"{name} {span} of {runs} run{'s' if runs > 1 else ''}")
    fitted = (
        " Both columns are the levels that the difference is between, not means of all samples."
        if any(row.fitted for row in rows)
        else ""
    )
    return f"Samples per metric: {'; '.join(parts)}.{fitted}"
