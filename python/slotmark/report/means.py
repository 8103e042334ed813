"""The parts of a report for metrics whose means are compared: a table a section, and what changed, in sentences."""

from collections.abc import Iterator, Sequence

from slotmark.compare import Comparison, Difference, Row, Summary
from slotmark.metrics import Metric
from slotmark.numbers import number, p_value
from slotmark.published.styles import STYLES, Style
from slotmark.report.document import SYMBOLS, Block, Cell, Column, Paragraph, Table


def mean_rows(comparison: Comparison) -> list[Row]:
    """The rows of metrics whose means are compared."""
    return [row for row in comparison.rows if row.metric.statistic == "mean"]


def mean_tables(comparison: Comparison, style: str = "modern") -> Iterator[Table]:
    """One table a section and candidate: both means, their difference with its interval, and the verdict.

    Args:
        comparison: What to show.
        style: How values, differences and percentages are printed: ``modern``, or as the established tool does, ``org`` or ``typst``.
    """
    for section, rows in _sections(mean_rows(comparison)):
        for place, side in enumerate(comparison.candidates):
            several = f": {side.name}" if len(comparison.candidates) > 1 else ""
            yield Table(
                f"{section}{several}",
                [
                    Column("mean", "left"),
                    Column(comparison.baseline.name),
                    Column(side.name),
                    Column("Δ", detail=True),
                    Column("Δ %"),
                    Column("interval of Δ %"),
                    Column("adj. p", detail=True),
                    Column("verdict", "left"),
                ],
                [_cells(comparison, row, place, STYLES.get(style)) for row in rows],
                [_counts(rows, place, comparison)],
            )


def observations(comparison: Comparison) -> list[Block]:
    """What changed beyond its margin, section by section, in plain sentences; of what can't be told, only that it can't."""
    blocks: list[Block] = []
    for place, side in enumerate(comparison.candidates):
        for section, rows in _sections(mean_rows(comparison)):
            changed = [(row, row.differences[place]) for row in rows]
            said = [
                Paragraph(f"{section}: {_observation(row, difference, comparison, side.name)}", difference.verdict)
                for row, difference in changed
                if difference and difference.verdict in ("better", "worse")
            ]
            blocks += said
        open_ = _names(comparison, place, "inconclusive")
        same = _names(comparison, place, "equivalent")
        against = f"{side.name} against {comparison.baseline.name}"
        if same:
            blocks.append(Paragraph(f"{against}: equivalent within their margins are {', '.join(same)}."))
        if open_:
            blocks.append(Paragraph(f"{against}: nothing can be said of {', '.join(open_)}."))
    return blocks


def _sections(rows: Sequence[Row]) -> Iterator[tuple[str, list[Row]]]:
    for section in dict.fromkeys(row.metric.section for row in rows):
        yield section, [row for row in rows if row.metric.section == section]


def _names(comparison: Comparison, place: int, verdict: str) -> list[str]:
    return [
        _named(row.metric)
        for row in mean_rows(comparison)
        if (difference := row.differences[place]) and difference.verdict == verdict
    ]


def _named(metric: Metric) -> str:
    """A metric's name inside a sentence: abbreviations keep their capitals."""
    first = metric.name.split()[0]
    return metric.name if first.isupper() or not first.isalpha() else metric.name[:1].lower() + metric.name[1:]


def _observation(row: Row, difference: Difference, comparison: Comparison, name: str) -> str:
    base, delta = row.summaries[0], difference.delta
    if base is None or delta is None or difference.ratio is None:
        return f"{_named(row.metric)} is {difference.verdict}."
    grew = "higher" if delta.estimate > 0 else "lower"
    amount, low, high = (abs(100 * (value - 1)) for value in _outwards(difference))
    scale, unit = _unit(row.metric, abs(delta.estimate))
    return (
        f"{_named(row.metric)} is {amount:.3g} % {grew} with {name} ({low:.3g} to {high:.3g} %; "
        f"{number(abs(delta.estimate) * scale, 3)}{unit} on {number(base.mean * scale)}{unit}): {difference.verdict}."
    )


def _outwards(difference: Difference) -> tuple[float, float, float]:
    """Estimate and ends of the ratio, the end nearer to no difference first."""
    ratio = difference.ratio
    assert ratio is not None
    near, far = sorted((ratio.low, ratio.high), key=lambda value: abs(value - 1))
    return ratio.estimate, near, far


def _unit(metric: Metric, size: float) -> tuple[float, str]:
    """A factor and a unit in which a value of this size is easy to read."""
    if metric.unit != "s":
        return 1, f" {metric.unit}" if metric.unit else ""
    return (1, " s") if size >= 1 else (1e3, " ms") if size >= 1e-3 else (1e6, " us")


def _cells(comparison: Comparison, row: Row, place: int, style: Style | None) -> list[Cell]:
    base, theirs, difference = row.summaries[0], row.summaries[place + 1], row.differences[place]
    metric = row.metric
    scale, unit = (1e3, "ms") if metric.unit == "s" and style is None else (1.0, metric.unit)
    name = f"{metric.name}, {unit}" if unit else metric.name
    remark = f"{metric.definition} {'Higher' if metric.better == 'higher' else 'Lower'} is better."
    values = [_mean(summary, metric, style, scale) for summary in (base, theirs)]
    if base is None or theirs is None or difference is None:
        return [Cell(name, remark=remark), *values, Cell("-"), Cell("-"), Cell(""), Cell(""), Cell("not compared")]
    delta = theirs.mean - base.mean
    if style:
        width = metric.width
        change = [style.delta(base.mean, theirs.mean, width), style.percent(base.mean, theirs.mean, width)]
    else:
        change = [_signed(scale * delta), _percent(delta, base.mean)]
    verdict = (
        Cell("", remark=difference.reason)
        if difference.verdict is None
        else Cell(f"{SYMBOLS[difference.verdict]} {difference.verdict}", difference.verdict, difference.reason)
    )
    p = (
        ""
        if difference.p_adjusted is None
        else p_value(difference.p_adjusted, bound=difference.p_adjusted <= 2 / (comparison.repetitions + 1))
    )
    return [
        Cell(name, remark=remark),
        *values,
        *map(Cell, change),
        _reach(difference, base, scale, unit),
        Cell(p),
        verdict,
    ]


def _reach(difference: Difference, base: Summary, scale: float, unit: str) -> Cell:
    """The interval of the difference, in percent of the baseline's mean; in the unit for those who ask."""
    delta = difference.delta
    if delta is None:
        return Cell("-")
    words = f"{_signed(scale * delta.low)} to {_signed(scale * delta.high)} {unit}".strip()
    if base.mean <= 0:
        return Cell(words)
    return Cell(f"{_percent(delta.low, base.mean)} to {_percent(delta.high, base.mean)}", remark=words)


def _mean(summary: Summary | None, metric: Metric, style: Style | None, scale: float) -> Cell:
    if summary is None:
        return Cell("-")
    text = style.cell(summary.mean, metric.width) if style else number(scale * summary.mean)
    runs = f" of {summary.runs} runs" if summary.runs > 1 else ""
    return Cell(text, remark=f"{summary.n:,} samples{runs}, standard deviation {number(scale * summary.sd)}")


def _signed(value: float) -> str:
    return f"+{number(value, 3)}" if value > 0 else number(value, 3)


def _percent(delta: float, base: float) -> str:
    """A difference in percent, with two digits where it's small: the eye compares signs and sizes, not digits."""
    if base == 0:
        return "-"
    share = 100 * delta / abs(base)
    decimals = 0 if abs(share) >= 100 else 1 if abs(share) >= 1 else 2
    return f"{share:+.{decimals}f}" if round(share, decimals) else "0"


def _counts(rows: Sequence[Row], place: int, comparison: Comparison) -> str:
    """How many samples the section rests on."""
    sides = (comparison.baseline.name, 0), (comparison.candidates[place].name, place + 1)
    parts = []
    for name, index in sides:
        counts = sorted({summary.n for row in rows if (summary := row.summaries[index])})
        runs = max((summary.runs for row in rows if (summary := row.summaries[index])), default=1)
        span = "no" if not counts else f"{counts[0]:,}" if len(counts) == 1 else f"{counts[0]:,} to {counts[-1]:,}"
        parts.append(f"{name} {span} of {runs} run{'s' if runs > 1 else ''}")
    return f"Samples a metric: {'; '.join(parts)}."
