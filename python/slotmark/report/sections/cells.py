"""Cells and words that several sections share."""

from collections.abc import Iterable, Sequence

from slotmark.compare.result import Comparison
from slotmark.compare.results.growth import Curve
from slotmark.compare.results.rows import FROM_RUNS, OF_BLOCKS, Basis, Difference, Row, Summary
from slotmark.metrics import Metric
from slotmark.numbers import (
    independent,
    interval,
    number,
    p_value,
    percent,
    percent_change,
    quantity,
    readable,
    signed_quantity,
)
from slotmark.report.document import CONDITIONAL, DRIFTING, Cell
from slotmark.statistics.interval import Interval
from slotmark.words import few, listed

OF_TYPICAL_BLOCK = "The ratio of a typical block is the middle of the blocks' own ratios: it needn't be the quotient of the two medians beside it."
"""Stands where such a ratio has costs beside it."""

MOST_NAMED = 4
"""Metrics that a sentence names."""

DIRECTION = {"higher": "higher is better", "lower": "lower is better"}


def headed(metric: Metric, unit: str | None = None) -> str:
    """A metric's name with its unit behind it, unless the name has it already.

    Args:
        metric: The catalogue's entry.
        unit: In the place of its own.
    """
    unit = metric.unit if unit is None else unit
    named = unit.lower() in metric.name.lower().replace(",", " ").split()
    return f"{metric.name}, {unit}" if unit and not named else metric.name


def metric_cell(metric: Metric, unit: str | None = None, link: str = "") -> Cell:
    """A metric's name and unit, with its definition for those who ask."""
    remark = f"{metric.definition} {DIRECTION[metric.better].capitalize()}."
    return Cell(headed(metric, unit), remark=remark, link=link)


def link_of(comparison: Comparison, row: Row, place: int) -> str:
    """The name of a row, by which other parts of a report refer to it.

    Args:
        comparison: Which has the row.
        row: Row of a metric.
        place: Place of the candidate among the candidates.
    """
    # The table of typical samples has all candidates below each other.
    alone = row.quantity == "typical" or len(comparison.candidates) == 1
    of = row.quantity if row.quantity in OF_BLOCKS else ""
    return "-".join(filter(None, (row.metric.id, row.part, of, "" if alone else comparison.candidates[place].name)))


def in_a_sentence(metric: Metric) -> str:
    """A metric's name inside a sentence: abbreviations keep their capitals."""
    first = metric.name.split()[0]
    is_word = first.isalpha() and first[1:].islower()
    return metric.name[:1].lower() + metric.name[1:] if is_word else metric.name


CONDITIONAL_NOTE = (
    f"{CONDITIONAL} Conditional on these runs: nothing shows how much another run of the same build would differ."
)
"""Stands once below the tables where they hold conditional verdicts."""

DRIFT_NOTE = (
    f"{DRIFTING} The interval alone would show a verdict, but the noise may hide a drift of the level, with which it is wider: "
    "several runs per side are needed to know."
)
"""Stands once below the tables where a drift keeps back verdicts."""


def verdict_cell(difference: Difference) -> Cell:
    """The verdict, with its reason and what it rests on for those who ask; nothing where there is none."""
    verdict = difference.verdict
    if verdict is None:
        return Cell("", remark=difference.reason)
    condition = "conditional on these runs" if difference.conditional else ""
    remark = "; ".join(filter(None, (difference.reason, rests_on(difference.basis), condition)))
    note = CONDITIONAL if difference.conditional else DRIFTING if difference.drift else ""
    return Cell(f"{verdict.sign}{note} {verdict}", verdict, remark)


def not_compared(base: Summary | None, theirs: Summary | None) -> Cell:
    """Stands in the place of a verdict where at least one of two sides lacks the metric."""
    return Cell("not compared" if base or theirs else "not recorded")


def rests_on(basis: Basis | None) -> str:
    """Returns the words for what an interval is computed over; empty where there is none."""
    if basis is None:
        return ""
    ours, theirs = basis.counts
    counts = f"{ours:,}" if ours == theirs else f"{ours:,} and {theirs:,}"
    if basis.unit.together:
        return f"over {counts} {basis.over}"
    if tuple(basis.effective) == tuple(basis.counts):
        over = basis.over.removesuffix("s") if (ours, theirs) == (1, 1) else basis.over
        assumed = f"; variation between runs from {basis.source}" if basis.source not in ("", FROM_RUNS) else ""
        return f"over {counts} {over} per side{assumed}"
    return f"over {counts} {basis.over} per side, {independent(*basis.effective)}"


def change_in_words(metric: Metric, difference: Difference) -> str:
    """The difference: in percent of the baseline, or in the metric's unit where nothing is a share of that; ``-`` where neither is judged."""
    if difference.ratio:
        return f"{percent_change(difference.ratio.estimate)} %"
    if difference.delta is None or difference.margin_absolute is None:
        return "-"
    return signed_quantity(difference.delta.estimate, metric.unit)


def margin_in_words(metric: Metric, difference: Difference) -> str:
    """The margin in force: in the unit where that is how it was set, else as a share of the baseline."""
    if difference.margin_absolute is None:
        return percent(difference.margin)
    return quantity(difference.margin_absolute, metric.unit)


def threshold_in_words(row: Row, difference: Difference) -> str:
    """The baseline's level beyond which a level is worse by more than the margin, with its unit; empty where it has none."""
    worst = row.worst_within(difference)
    if worst is None:
        return ""
    scale, unit = readable(row.metric.unit)
    return f"{'≤' if row.metric.better == 'lower' else '≥'} {number(scale * worst)} {unit}".strip()


def margin_cell(metric: Metric, difference: Difference) -> Cell:
    """The margin in force, and as a share of the baseline for those who ask."""
    if difference.verdict is None:
        return Cell("")
    share = (
        ""
        if difference.margin_absolute is None or difference.ratio is None
        else f"{percent(difference.margin)} of the baseline"
    )
    return Cell(f"±\N{NO-BREAK SPACE}{margin_in_words(metric, difference)}", remark=share)


def condition_notes(differences: Iterable[Difference | None]) -> list[str]:
    """The notes on conditional verdicts, and on those that a drift keeps back, where there are any."""
    there = [one for one in differences if one]
    conditional, drifting = any(one.conditional for one in there), any(one.drift for one in there)
    return [*([CONDITIONAL_NOTE] if conditional else []), *([DRIFT_NOTE] if drifting else [])]


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


def on_log_axis(row: Row) -> bool:
    """Returns whether a row's distribution is drawn on a log axis: that of its metric, but where half of a run's samples or more aren't above 0 it has no place for them."""
    return row.metric.scale == "log" and all(one.median > 0 for one in row.summaries if one)


def titled(one: Row | Curve) -> str:
    """Its metric, and its part where it has one."""
    return f"{one.metric.name}: {one.part}" if one.part else one.metric.name


def levels_in_words(row: Row, place: int) -> str:
    """The levels of the baseline and of a candidate, with their unit: ``71.70 → 75.60 ms``; empty where either is missing.

    Args:
        row: Row of a metric.
        place: Place of the candidate among the candidates.
    """
    ours, theirs = row.levels[0], row.levels[place + 1]
    if ours is None or theirs is None:
        return ""
    scale, unit = readable(row.metric.unit)
    return f"{number(scale * ours)} → {number(scale * theirs)} {unit}".strip()


def moved(row: Row, place: int, ratio: Interval) -> str:
    """By how much a candidate's level is higher or lower: ``5.4 % higher (71.70 → 75.60 ms)``; where the two contradict each other, it says so."""
    levels = levels_in_words(row, place)
    if row.levels_contradict(place):
        return f"{_amount(ratio.estimate)} by its typical ratio, which decides, though its medians go the other way ({levels})"
    return f"{_amount(ratio.estimate)} ({levels})"


def _amount(ratio: float) -> str:
    by = percent_change(ratio)
    direction = "higher" if by.startswith(("+", ">")) else "lower"
    return "the same" if by == "0" else f"{by.replace('+', '').removeprefix('-')} % {direction}"


def contradictions(rows: Iterable[Row]) -> list[str]:
    """Returns a note for tables that have both medians and ratios of these rows, where they go different ways."""
    names = {row.title: None for row in rows if any(map(row.levels_contradict, range(len(row.differences))))}
    if not names:
        return []
    return [
        f"{listed(few([*names], MOST_NAMED))}: medians go the other way than the typical ratio, which decides. Such samples vary too much for one "
        "figure: look at every sample."
    ]


def by_section(rows: Sequence[Row]) -> dict[str, list[Row]]:
    """Rows by the section of their metric, in order."""
    sections: dict[str, list[Row]] = {}
    for row in rows:
        sections.setdefault(row.metric.section, []).append(row)
    return sections
