"""Cells and words that several sections share."""

from collections.abc import Sequence

from slotmark.compare.result import Difference, Row, Summary, Verdict
from slotmark.metrics import Metric
from slotmark.numbers import interval, number, p_value
from slotmark.report.document import SYMBOLS, Cell

DIRECTION = {"higher": "higher is better", "lower": "lower is better"}


def headed(metric: Metric, unit: str | None = None) -> str:
    """A metric's name with its unit behind it, unless the name says it already.

    Args:
        metric: The catalogue's entry.
        unit: In the place of its own.
    """
    unit = metric.unit if unit is None else unit
    named = unit.lower() in metric.name.lower().replace(",", " ").split()
    return f"{metric.name}, {unit}" if unit and not named else metric.name


def metric_cell(metric: Metric, unit: str | None = None) -> Cell:
    """A metric's name and unit, with its definition for those who ask."""
    return Cell(headed(metric, unit), remark=f"{metric.definition} {DIRECTION[metric.better].capitalize()}.")


def in_a_sentence(metric: Metric) -> str:
    """A metric's name inside a sentence: abbreviations keep their capitals."""
    first = metric.name.split()[0]
    return metric.name if first.isupper() or not first.isalpha() else metric.name[:1].lower() + metric.name[1:]


def verdict_cell(difference: Difference) -> Cell:
    """The verdict, with its reason for those who ask; nothing where there is none."""
    verdict = difference.verdict
    return Cell("", remark=difference.reason) if verdict is None else Cell(marked(verdict), verdict, difference.reason)


def marked(verdict: Verdict) -> str:
    """A verdict with its sign."""
    return f"{SYMBOLS[verdict]} {verdict}"


def p_cell(difference: Difference) -> Cell:
    """The adjusted p-value; nothing where it was not tested."""
    p = difference.p_adjusted
    return Cell("" if p is None else p_value(p, bound=difference.p_is_bound))


def median_interval(summary: Summary) -> str:
    """The two ends of the median's interval."""
    return "-" if summary.median_interval is None else interval(summary.median_interval)


def optional(value: float | None) -> Cell:
    """A number where there is one."""
    return Cell("-" if value is None else number(value))


def readable(metric: Metric) -> tuple[float, str]:
    """A factor and the unit that it leads to: durations in s are shown in ms."""
    return (1e3, "ms") if metric.unit == "s" else (1.0, metric.unit)


def listed(names: Sequence[str]) -> str:
    """Names as in a sentence: ``a``, ``a and b``, ``a, b and c``."""
    return " and ".join(filter(None, (", ".join(names[:-1]), *names[-1:])))


def titled(row: Row) -> str:
    """A row's metric, and its part where it has one."""
    return f"{row.metric.name}: {row.part}" if row.part else row.metric.name


def by_section(rows: Sequence[Row]) -> dict[str, list[Row]]:
    """Rows by the section of their metric, in order."""
    sections: dict[str, list[Row]] = {}
    for row in rows:
        sections.setdefault(row.metric.section, []).append(row)
    return sections
