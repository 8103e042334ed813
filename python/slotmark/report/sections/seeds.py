"""Tables of runs that are paired by seed: what a change does, or a parameter over a range."""

from slotmark.compare.result import Comparison, Row, Summary, Swept
from slotmark.metrics import Metric
from slotmark.numbers import number, percent, signed
from slotmark.report.document import Cell, Column, Paragraph, Table
from slotmark.report.sections.cells import by_section, headed, metric_cell, p_cell, readable, verdict_cell


def seed_rows(comparison: Comparison) -> list[Row]:
    """The rows of metrics with one sample per seed."""
    return [row for row in comparison.rows if row.metric.estimator == "seeds"]


def seed_tables(comparison: Comparison) -> list[Table]:
    """A table per section: the mean of every side with its standard error, and each candidate's difference with its interval."""
    rows = seed_rows(comparison)
    judged = any(difference and difference.verdict for row in rows for difference in row.differences)
    columns = [Column("mean", "left"), Column(f"{comparison.baseline.name} ±")]
    for side in comparison.candidates:
        columns += [Column(f"{side.name} ±"), Column(f"difference [{percent(comparison.confidence)}]")]
        columns += [Column("adj. p", detail=True), Column("verdict", "left")] if judged else []
    notes = [_counted(comparison, rows), "± is one standard error over seeds."]
    if comparison.candidates:
        notes.append("All sides have the same seeds: differences are paired by seed; in brackets their interval.")
    tables = [
        Table(section, columns, [_line(row, judged) for row in inside]) for section, inside in by_section(rows).items()
    ]
    return [*tables[:-1], *(Table(one.title, one.columns, one.rows, notes) for one in tables[-1:])]


def sweep_tables(comparison: Comparison, swept: Swept) -> list[Table]:
    """A table per section with a line per value of the parameter, and one with the standard errors."""
    tables, errors = [], []
    for section, rows in by_section(seed_rows(comparison)).items():
        columns = [
            Column(named(swept), "right"),
            *(Column(headed(row.metric, readable(row.metric)[1])) for row in rows),
        ]
        lines = [
            [Cell(value_of(swept, place)), *(_mean(row.metric, row.summaries[place]) for row in rows)]
            for place in range(len(swept.values))
        ]
        tables.append(Table(section, columns, lines, [_counted(comparison, rows)]))
        lines = [
            [Cell(value_of(swept, place)), *(_error(row.metric, row.summaries[place]) for row in rows)]
            for place in range(len(swept.values))
        ]
        errors.append(
            Table(": ".join(filter(None, (section, "standard errors over seeds"))), columns, lines, wide=True)
        )
    return [*tables, *errors]


def seed_answer(comparison: Comparison) -> list[Paragraph]:
    """What a change does to the first metric, in a sentence per candidate; the level alone where nothing was changed."""
    first = next((row for row in seed_rows(comparison) if row.metric.short), None)
    if first is None or (base := first.summaries[0]) is None:
        return []
    scale, unit = readable(first.metric)
    if not comparison.candidates:
        return [Paragraph(f"{first.metric.name}: {number(scale * base.mean)} {unit}.")]
    answers = []
    for side, summary, difference in zip(comparison.candidates, first.summaries[1:], first.differences, strict=True):
        if summary is None or difference is None or difference.delta is None:
            continue
        delta = difference.delta
        answers.append(
            Paragraph(
                f"{first.metric.name}: {number(scale * summary.mean)} {unit} with {side.name}, {number(scale * base.mean)} {unit} with "
                f"{comparison.baseline.name}: a difference of {signed(scale * delta.estimate)} {unit} "
                f"({percent(comparison.confidence)} interval {signed(scale * delta.low)} to {signed(scale * delta.high)} {unit}).",
                difference.verdict,
            )
        )
    return answers


def named(swept: Swept) -> str:
    """The parameter with its unit."""
    return f"{swept.parameter}, {swept.unit}" if swept.unit else swept.parameter


def value_of(swept: Swept, place: int) -> str:
    """A value of the parameter, as it was set."""
    return f"{swept.values[place]:.12g}"


def _line(row: Row, judged: bool) -> list[Cell]:
    scale, unit = readable(row.metric)
    cells = [metric_cell(row.metric, unit), _with_error(row.summaries[0], scale)]
    for summary, difference in zip(row.summaries[1:], row.differences, strict=True):
        delta = difference and difference.delta
        cells.append(_with_error(summary, scale))
        if delta is None:
            cells.append(Cell("-"))
        else:
            ends = f" [{signed(scale * delta.low)}, {signed(scale * delta.high)}]" if delta.low < delta.high else ""
            cells.append(Cell(f"{signed(scale * delta.estimate)}{ends}"))
        if judged:
            cells += [p_cell(difference), verdict_cell(difference)] if difference else [Cell(""), Cell("not compared")]
    return cells


def _with_error(summary: Summary | None, scale: float) -> Cell:
    if summary is None:
        return Cell("-")
    error = summary.standard_error
    shown = "" if error is None else f" ± {number(scale * error, 2)}"
    reach = f"{number(scale * summary.minimum)} to {number(scale * summary.maximum)} over {summary.n} seeds"
    return Cell(f"{number(scale * summary.mean)}{shown}", remark=reach)


def _mean(metric: Metric, summary: Summary | None) -> Cell:
    return Cell("-") if summary is None else Cell(number(readable(metric)[0] * summary.mean))


def _error(metric: Metric, summary: Summary | None) -> Cell:
    error = summary and summary.standard_error
    return Cell("-") if error is None else Cell(number(readable(metric)[0] * error, 2))


def _counted(comparison: Comparison, rows: list[Row]) -> str:
    """How many seeds, and what else is known of each side's runs, such as the blocks that were analysed."""
    counts = sorted({summary.n for row in rows for summary in row.summaries if summary})
    seeds = " to ".join(dict.fromkeys(str(count) for count in (*counts[:1], *counts[-1:]))) or "no"
    told = "; ".join(
        f"{side.name}: {', '.join(f'{name} {value}' for name, value in side.facts)}"
        for side in comparison.sides
        if side.facts
    )
    alone = ": no errors can be given" if counts == [1] else ""
    return f"Seeds: {seeds}{alone}.{f' {told}.' if told else ''}"
