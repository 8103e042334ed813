"""Tables of runs that are paired by seed: what a change does, or a parameter over a range."""

from collections.abc import Container

from slotmark.compare.result import Comparison
from slotmark.compare.results.details import ErrorParts, Forecast, Simulated, Swept
from slotmark.compare.results.rows import Row, Summary
from slotmark.metrics import Metric
from slotmark.metrics.predicted import CONFIDENCE, ModelError, names_of
from slotmark.numbers import interval, number, percent, percent_change, plain, readable, signed, signed_interval
from slotmark.report.document import Block, Cell, Column, Paragraph, Table, details, left, right
from slotmark.report.sections.cells import by_section, margin_cell, metric_cell, not_compared, p_cell, verdict_cell
from slotmark.statistics.interval import Interval

_SHARE_NOTE = "The replays' share is of the variance: where it is large, more processes of the replays make the interval narrower, and more seeds don't."


def seed_rows(comparison: Comparison) -> list[Row]:
    """The rows of metrics with one sample per seed."""
    return [row for row in comparison.rows if row.predicted]


def main_rows(comparison: Comparison) -> list[Row]:
    """Returns the rows that a sweep shows: metrics with a short name, or all where none has one."""
    rows = seed_rows(comparison)
    return [row for row in rows if row.metric.short] or rows


def seed_tables(comparison: Comparison) -> list[Table]:
    """A table per section: the mean of every side with its standard error, and each candidate's difference with its interval."""
    rows = seed_rows(comparison)
    judged = any(difference and difference.verdict for row in rows for difference in row.differences)
    several = _several(rows)
    columns = [*left("mean"), *right(f"{comparison.baseline.name}{' ±' if several else ''}")]
    for side in comparison.candidates:
        columns.append(Column(f"{side.name}{' ±' if several else ''}"))
        columns.append(Column(f"difference [{percent(comparison.confidence)}]" if several else "difference"))
        columns += [*right("margin"), *details("adj. p"), *left("verdict")] if judged else []
    error = model_error(comparison)
    columns += right("model's error") if error else []
    notes = _notes(comparison)
    notes += _error_notes(error)
    if several:
        notes.append("± is one standard error over seeds.")
    notes.append(
        "All sides have the same seeds: differences are paired by seed"
        f"{f', in brackets their {percent(comparison.confidence)} interval' if several else ''}."
    )
    if any(isinstance(one, Forecast) for one in comparison.details):
        notes.append("The intervals include the error of the replays too.")
    lines = {
        section: [[*_line(row, judged), *([_error_of_model(row, error)] if error else [])] for row in inside]
        for section, inside in by_section(rows).items()
    }
    tables = [Table(section, columns, inside) for section, inside in lines.items()]
    return [*tables[:-1], *(Table(one.title, one.columns, one.rows, notes) for one in tables[-1:])]


def sweep_tables(comparison: Comparison, swept: Swept) -> list[Table]:
    """A line per value of the parameter and one of the model's error where that is known; the same with standard errors."""
    rows = main_rows(comparison)
    units = {readable(row.metric.unit)[1] for row in rows}
    common = f" in {next(iter(units))}" if len(units) == 1 and units != {""} else ""
    columns = right(named(swept), *(_head(row.metric, with_unit=not common) for row in rows))
    means, errors = (
        [
            [Cell(value_of(swept, place)), *(cell(row.metric, row.summaries[place]) for row in rows)]
            for place in range(len(swept.values))
        ]
        for cell in (_mean, _error)
    )
    error = model_error(comparison)
    if error:
        means.append([Cell("model's error"), *(_error_of_model(row, error) for row in rows)])
    notes = [*_notes(comparison, swept), *_error_notes(error, {row.metric.name for row in rows})]
    tables = [Table(f"Means{common} by {swept.parameter}", columns, means, notes)]
    if _several(rows):
        tables.append(Table(f"Standard errors over seeds{common} by {swept.parameter}", columns, errors, wide=True))
    return tables


def forecast_tables(comparison: Comparison) -> list[Block]:
    """Tables of candidates whose stages follow from replays: by how much each stage was scaled, which were kept, and both errors of each difference."""
    found: list[Block] = []
    for one in (detail for detail in comparison.details if isinstance(detail, Forecast)):
        simulated = names_of(comparison.bench).simulated
        scaled = one.replayed
        of = f"{scaled.candidate} against {scaled.baseline}"
        rows = [
            [
                Cell(factor.stage),
                Cell(f"{number(factor.factor)}x [{interval(Interval(factor.factor, factor.low, factor.high))}]"),
                Cell(factor.cost),
                Cell(factor.which),
                Cell(f"{factor.blocks:,}"),
            ]
            for factor in scaled.factors
        ]
        columns = [*left("stage"), *right(f"factor [{percent(CONFIDENCE)}]"), *left("cost in the replays")]
        columns += [*left("blocks"), *right("number of blocks")]
        notes = [f"{kept.stage} stays as the {simulated} has it: {kept.reason}." for kept in scaled.kept]
        found.append(Table(f"Stages from the replays of {of}", columns, rows, notes))
        parts = {part.metric: part for part in one.errors}
        errors = [
            [
                metric_cell(row.metric, readable(row.metric.unit)[1]),
                *_parts(parts[row.metric.id], readable(row.metric.unit)[0]),
            ]
            for row in seed_rows(comparison)
            if row.metric.id in parts
        ]
        columns = left("standard error of the difference")
        columns += right("from the replays", "from the seeds", "both", "replays' share", "degrees of freedom")
        found.append(Table(f"Errors in the intervals of {one.side}", columns, errors, [_SHARE_NOTE]))
    return found


def _parts(parts: ErrorParts, scale: float) -> list[Cell]:
    return [
        *(Cell(number(scale * error, 2)) for error in (parts.replays, parts.seeds, parts.whole)),
        Cell(percent(round(parts.share_of_replays, 3))),
        Cell(number(parts.degrees, 3)),
    ]


def seed_answer(comparison: Comparison) -> list[Paragraph]:
    """Returns the effect of each candidate on the main metric: the first that is tested, or the first with a short name."""
    rows = main_rows(comparison)
    first = next((row for row in rows if row.metric.tested), rows[0])
    scale, unit = readable(first.metric.unit)
    level = first.summaries[0]
    if not comparison.candidates and level is not None:
        return [Paragraph(f"{first.metric.name}: {number(scale * level.mean)} {unit}.")]
    answers, error = [], model_error(comparison)
    for side, summary, difference in zip(comparison.candidates, first.summaries[1:], first.differences, strict=True):
        base = first.summaries[0]
        if base is None or summary is None:
            continue
        delta = difference and difference.delta
        levels = (
            f"{first.metric.name}: {number(scale * summary.mean)} {unit} with {side.name}, {number(scale * base.mean)} {unit} with "
            f"{comparison.baseline.name}"
        )
        ends = (
            f": a difference of {signed(scale * delta.estimate)} {unit} ({percent(comparison.confidence)} interval "
            f"{signed_interval(delta, scale)} {unit})"
            if delta
            else ""
        )
        answers.append(Paragraph(f"{levels}{ends}.", difference.verdict if difference else None))
    near = [
        error.rows[row.metric.name]
        for row in seed_rows(comparison)
        if error and row.metric.section == first.metric.section and row.metric.name in error.rows
    ]
    if error and near:
        reach = f"{percent_change(1 + min(near))} to {percent_change(1 + max(near))} %"
        answers.append(
            Paragraph(
                f"The model's own error in the rows of {first.metric.section} is {reach}: its predictions of "
                f"{error.profile} against what was published."
            )
        )
    return answers


def _simulated(comparison: Comparison) -> Simulated | None:
    """The records of the comparison's simulations; None where it has none."""
    return next((one for one in comparison.details if isinstance(one, Simulated)), None)


def model_error(comparison: Comparison) -> ModelError | None:
    """Returns how far the model is from the published figures of the profile; None where there are none."""
    found = _simulated(comparison)
    return found and found.error


def named(swept: Swept) -> str:
    """The parameter with its unit."""
    return f"{swept.parameter}, {swept.unit}" if swept.unit else swept.parameter


def value_of(swept: Swept, place: int) -> str:
    """A value of the parameter, as it was set."""
    return plain(swept.values[place])


def _head(metric: Metric, *, with_unit: bool) -> str:
    return ", ".join(filter(None, (metric.short or metric.name, readable(metric.unit)[1] if with_unit else "")))


def _line(row: Row, judged: bool) -> list[Cell]:
    scale, unit = readable(row.metric.unit)
    cells = [metric_cell(row.metric, unit), _with_error(row.summaries[0], scale)]
    for summary, difference in zip(row.summaries[1:], row.differences, strict=True):
        delta = difference and difference.delta
        cells.append(_with_error(summary, scale))
        if delta is None:
            cells.append(Cell("-"))
        else:
            ends = f" [{signed_interval(delta, scale)}]" if delta.low < delta.high else ""
            cells.append(Cell(f"{signed(scale * delta.estimate)}{ends}"))
        if judged:
            cells += (
                [margin_cell(row.metric, difference), p_cell(difference), verdict_cell(difference)]
                if difference
                else [Cell(""), Cell(""), not_compared(row.summaries[0], summary)]
            )
    return cells


def _error_of_model(row: Row, error: ModelError) -> Cell:
    found = error.rows.get(row.metric.name)
    return Cell("-") if found is None else Cell(f"{percent_change(1 + found)} %")


def _error_notes(error: ModelError | None, shown: Container[str] | None = None) -> list[str]:
    """Returns notes on the model's error; a shown metric that wasn't published has a note on which metric's error holds for it."""
    if error is None:
        return []
    return [
        f"Model's error: what is predicted of {error.profile} against what was published; no interval includes it.",
        *(
            f"{metric} wasn't published: its error is that of {published}, which has the same predicted values."
            for metric, published in error.equal.items()
            if shown is None or metric in shown
        ),
    ]


def _with_error(summary: Summary | None, scale: float) -> Cell:
    if summary is None:
        return Cell("-")
    error = summary.standard_error
    shown = "" if error is None else f" ± {number(scale * error, 2)}"
    reach = f"{number(scale * summary.minimum)} to {number(scale * summary.maximum)} over {summary.n} seeds"
    return Cell(f"{number(scale * summary.mean)}{shown}", remark=reach)


def _mean(metric: Metric, summary: Summary | None) -> Cell:
    return Cell("-") if summary is None else Cell(number(readable(metric.unit)[0] * summary.mean))


def _error(metric: Metric, summary: Summary | None) -> Cell:
    error = summary and summary.standard_error
    return Cell("-") if error is None else Cell(number(readable(metric.unit)[0] * error, 2))


def _several(rows: list[Row]) -> bool:
    """Returns whether there is more than one seed, so that errors are known."""
    return any(summary and summary.n > 1 for row in rows for summary in row.summaries)


def _notes(comparison: Comparison, swept: Swept | None = None) -> list[str]:
    """Returns notes on the seeds, on how much was analysed, on the swept parameter's own value, and on what was moved along."""
    found = _simulated(comparison)
    if found is None:
        return []
    alone = "" if _several(seed_rows(comparison)) else ": one alone gives no errors"
    notes = [f"Seeds {found.seeds}{alone}."] if found.seeds else []
    counts = [
        f"{side.name} {count:,}"
        for side, count in zip(comparison.sides, found.analysed, strict=True)
        if count is not None
    ]
    if swept:
        notes += [f"The {names_of(comparison.bench).simulated} has {swept.own}."] if swept.own else []
    elif len(counts) == len(found.analysed):
        notes.append(f"{found.counted.capitalize()} analysed: {'; '.join(counts)}.")
    return [*notes, *filter(None, [found.moved_note])]
