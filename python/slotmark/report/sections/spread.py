"""A table of how much runs of one build differ."""

from slotmark.compare.results.spread import CONFIDENCE, Measured
from slotmark.compare.run_to_run.spread_table import MetricSpread
from slotmark.metrics import catalogue
from slotmark.numbers import percent, plain, quantity
from slotmark.report.document import Block, Cell, Paragraph, Table, left, right
from slotmark.report.sections.cells import in_a_sentence


def spread_tables(found: Measured) -> list[Block]:
    """A row per metric: the standard deviation of one run's mean, its interval, and what of it varies within runs."""
    entries = catalogue(found.table.bench)
    rows = [
        [
            Cell(": ".join(filter(None, (entries[one.id].name, one.part)))),
            Cell(_amount(one, one.sd)),
            Cell(f"{_amount(one, one.low)} to {_amount(one, one.high)}"),
            Cell(_amount(one, one.within) if one.within else "-"),
            Cell(plain(one.degrees)),
        ]
        for one in found.table.metric
    ]
    columns = [
        *left("metric"),
        *right("s.d. of a run", f"{percent(CONFIDENCE)} interval", "within it", "degrees of freedom"),
    ]
    same = [in_a_sentence(entries[one]) for one in found.table.same]
    return [
        Table("", columns, rows),
        *([Paragraph(f"The same in all runs of each build: {', '.join(same)}.")] if same else []),
    ]


def _amount(one: MetricSpread, value: float) -> str:
    return percent(value) if one.scale == "log" else quantity(value, one.unit)
