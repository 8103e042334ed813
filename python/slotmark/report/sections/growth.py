"""Changes of metrics with the size of the runs' work: sentences, tables and charts."""

from collections.abc import Iterator, Sequence
from itertools import groupby

from slotmark.compare.results.growth import Curve, Growth, Level
from slotmark.numbers import number, readable
from slotmark.report.document import Block, Cell, Figure, Paragraph, Table, left, right
from slotmark.report.drawing import later
from slotmark.report.sections.cells import headed, titled


def growth_answers(growth: Growth) -> list[Block]:
    """A sentence per metric with a short name, of all targets."""
    return [
        Paragraph(f"{', '.join(filter(None, (curves[0].metric.name, curves[0].part)))}: {'; '.join(words)}.")
        for curves in _by_metric(growth)
        if curves[0].metric.short and (words := [_in_words(one, growth.along) for one in curves if len(one.levels) > 1])
    ]


def growth_charts(growth: Growth) -> list[Block]:
    """A small chart per metric whose sizes and levels are above 0, after how to read them."""
    figures = [
        Figure(
            titled(curves[0]),
            curves[0].metric.definition,
            later("growth", curves, growth.along, growth.targets),
            small=True,
        )
        for curves in _by_metric(growth)
        if all(min(level.size, level.low) > 0 for curve in curves for level in curve.levels)
    ]
    how = (
        f"Both axes are logarithmic: on a straight line, equal ratios of {growth.along} give equal ratios of the metric. Means of "
        "processes, with the range from the lowest process to the highest."
    )
    return [Paragraph(how), *figures] if figures else []


def growth_tables(growth: Growth) -> list[Block]:
    """A table per metric: a line per target, a column per size. Those without a short name are for who looks closer."""
    notes = ["Means of processes, and the ratio of the last to the first."]
    made: list[Block] = []
    for curves in _by_metric(growth):
        scale, unit = readable(curves[0].metric.unit)
        columns = [*left(growth.along), *right(*(f"{size:,}" for size in growth.sizes), "factor")]
        rows = [
            [Cell(curve.target, remark=curve.metric.definition), *_cells(curve, growth.sizes, scale)]
            for curve in curves
        ]
        title = ": ".join(filter(None, (headed(curves[0].metric, unit), curves[0].part)))
        made.append(Table(title, columns, rows, [] if made else notes, wide=not curves[0].metric.short))
    return made


def _by_metric(growth: Growth) -> Iterator[list[Curve]]:
    for _, curves in groupby(growth.curves, key=lambda curve: (curve.metric.id, curve.part)):
        yield list(curves)


def _cells(curve: Curve, sizes: Sequence[int], scale: float) -> list[Cell]:
    found = {level.size: level for level in curve.levels}
    cells = [
        Cell(number(scale * found[size].mean), remark=_range(found[size], scale)) if size in found else Cell("-")
        for size in sizes
    ]
    return [*cells, Cell(_factor(curve))]


def _range(level: Level, scale: float) -> str:
    return f"{level.processes} process{'es' if level.processes > 1 else ''}, from {number(scale * level.low)} to {number(scale * level.high)}"


def _factor(curve: Curve) -> str:
    return "-" if curve.factor is None else f"{number(curve.factor, 3)}x"


def _in_words(curve: Curve, along: str) -> str:
    scale, unit = readable(curve.metric.unit)
    first, last = curve.levels[0], curve.levels[-1]
    times = "" if curve.factor is None else f", {_factor(curve)}"
    unit = f" {unit}" if unit else ""
    return f"{curve.target} {number(scale * first.mean)}{unit} with {first.size:,} {along}, {number(scale * last.mean)}{unit} with {last.size:,}{times}"
