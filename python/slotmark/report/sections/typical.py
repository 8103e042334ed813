"""Tables of metrics whose typical samples are compared: a table per part, and every sample."""

from slotmark.compare.result import Comparison
from slotmark.compare.results.rows import Row, Summary
from slotmark.numbers import number, ratio_interval
from slotmark.report.document import Cell, Table, left, right
from slotmark.report.sections.cells import (
    contradictions,
    headed,
    link_of,
    margin_cell,
    median_interval,
    metric_cell,
    not_compared,
    p_cell,
    verdict_cell,
)


def typical_tables(comparison: Comparison) -> list[Table]:
    """A table per part; in it, per metric, the baseline and each candidate against it."""
    parts: dict[str, list[Row]] = {}
    for row in _rows(comparison):
        parts.setdefault(row.part, []).append(row)
    return [_table(comparison, part, rows) for part, rows in parts.items()]


def sample_tables(comparison: Comparison) -> list[Table]:
    """A table per metric: every side's summary and samples in each part."""
    columns = [
        *left("part", "run"),
        *right("n", "median", "interval", "mean", "trimmed mean", "std. dev.", "min", "max"),
        *left("every sample, in order; * outlier"),
    ]
    tables: dict[str, list[list[Cell]]] = {}
    for row in _rows(comparison):
        for side, summary in zip(comparison.sides, row.summaries, strict=True):
            if summary is not None:
                tables.setdefault(headed(row.metric), []).append([Cell(row.part), Cell(side.name), *_each(summary)])
    return [Table(title, columns, rows, wide=True) for title, rows in tables.items()]


def _rows(comparison: Comparison) -> list[Row]:
    """Returns the rows that tables show; those of a timeline are left to the chart."""
    return [row for row in comparison.rows if row.quantity == "typical" and row.metric.chart != "timeline"]


def _table(comparison: Comparison, part: str, rows: list[Row]) -> Table:
    if not any(difference for row in rows for difference in row.differences):
        having = [place for place in range(len(comparison.sides)) if any(row.summaries[place] for row in rows)]
        why = (
            f"only {comparison.sides[having[0]].name} has this part"
            if len(having) == 1
            else f"{comparison.baseline.name}, from which differences are, has no such part{'; the ranking compares the others' if comparison.ranking else ''}"
            if 0 not in having
            else "too few samples"
        )
        columns = [*left("median"), *right(*(comparison.sides[place].name for place in having))]
        cells = [[metric_cell(row.metric), *(_median(row.summaries[place]) for place in having)] for row in rows]
        return Table(
            part,
            columns,
            cells,
            [f"Not compared: {why}."],
        )
    columns = [*left("", "run"), *right("median", "ratio [interval]", "margin", "adj. p"), *left("verdict")]
    return Table(part, columns, [cells for row in rows for cells in _compared(comparison, row)], contradictions(rows))


def _compared(comparison: Comparison, row: Row) -> list[list[Cell]]:
    """A line for the baseline, then one for each candidate against it."""
    nothing = Cell("")
    link = link_of(comparison, row, 0)
    lines = [
        [metric_cell(row.metric, link=link), Cell(comparison.baseline.name), _median(row.summaries[0]), *[nothing] * 4]
    ]
    for side, summary, difference in zip(comparison.candidates, row.summaries[1:], row.differences, strict=True):
        judged = [*[nothing] * 3, not_compared(row.summaries[0], summary)]
        if difference is not None:
            ratio = Cell(ratio_interval(difference.ratio) if difference.ratio else "-")
            judged = [ratio, margin_cell(row.metric, difference), p_cell(difference), verdict_cell(difference)]
        lines.append([nothing, Cell(side.name), _median(summary), *judged])
    return lines


def _median(summary: Summary | None) -> Cell:
    if summary is None:
        return Cell("-")
    return Cell(number(summary.median), remark=f"{summary.n:,} samples, interval {median_interval(summary)}")


def _each(summary: Summary) -> list[Cell]:
    far = set(summary.outliers)
    samples = ", ".join(f"{number(value)}{'*' if key in far else ''}" for key, value in summary.samples)
    others = (summary.mean, summary.trimmed_mean, summary.sd, summary.minimum, summary.maximum)
    return [
        Cell(f"{summary.n:,}"),
        Cell(number(summary.median)),
        Cell(median_interval(summary)),
        *(Cell(number(value)) for value in others),
        Cell(samples),
    ]
