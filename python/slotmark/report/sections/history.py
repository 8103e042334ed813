"""The history of a metric, and the changes of all metrics."""

from collections.abc import Sequence

from slotmark.history.results import Changes, FoundChange, History, SeriesHistory, VersionLine
from slotmark.history.series import Group
from slotmark.metrics import Metric, catalogue
from slotmark.numbers import change as change_of
from slotmark.numbers import day, difference_with_span, interval, number, p_value, percent, readable, signed
from slotmark.report.document import Block, Cell, Column, Document, Paragraph, Section, Table, details, left, right
from slotmark.report.sections.cells import DIRECTION, headed
from slotmark.statistics.change_points import FIRST
from slotmark.words import counted, listed

TICKS = "▁▂▃▄▅▆▇█"

MOST_LINES = 40
"""The most versions that are shown of a series: the newest."""

STATES_NOTE = "sure: it no longer moves. likely: it may fade. new: one run, which may be a spike. docs/history.md has how sure that is."
"""Stands below tables of changes."""


def history_document(found: History) -> Document:
    """The history of a metric: a line per version."""
    metric = catalogue(found.bench)[found.metric]
    sections = [Section(_title(one.group, one.part), _series(metric, one), brief=True) for one in found.series]
    runs = sum(len(one.levels) for one in found.series)
    subtitle = (
        f"{found.store}: {counted(runs, 'estimate')} in {_counted_series(len(found.series))}{_left_out(found.left_out)}"
    )
    notes: list[Block] = [Paragraph(f"{metric.definition} {DIRECTION[metric.better].capitalize()}.")]
    if len({one.group.machine for one in found.series}) > 1:
        notes.append(
            Paragraph(
                "Runs of other kinds of machines, or of other work, have a history of their own: they are never compared."
            )
        )
    return Document(
        headed(metric, readable(metric.unit)[1]), subtitle, [*sections, Section("How to read it", notes, brief=True)]
    )


def changes_document(found: Changes) -> Document:
    """The changes of all metrics, the newest first."""
    since = f" since {day(found.since_ns)}" if found.since_ns is not None else ""
    none = "No series has runs enough to look for changes" if found.unsearched == found.series else f"No change{since}"
    title = f"{counted(len(found.changes), 'change')}{since}" if found.changes else none
    blocks: list[Block] = []
    if found.changes:
        blocks.append(_table(found.changes))
        blocks += _explained(found.changes)
    if found.within:
        blocks.append(
            Paragraph(
                f"{counted(found.within, 'change')} within the margin of the metric: `slotmark history METRIC` shows them."
            )
        )
    if found.unsearched:
        few = "have" if found.unsearched > 1 else "has"
        blocks.append(
            Paragraph(
                f"Changes are looked for from the {FIRST + 1}th run of a series on: {found.unsearched:,} of {found.series:,} {few} fewer."
            )
        )
    if found.accepted:
        blocks += [Paragraph(f"Accepted: {one.id}, {one.metric}: {one.accepted}") for one in found.accepted]
    subtitle = f"{found.store}: {counted(found.runs, 'run')}, {found.series:,} series{_left_out(found.left_out)}"
    return Document(title, subtitle, [Section("Changes", blocks, brief=True)] if blocks else [])


def sparkline(values: Sequence[float]) -> str:
    """Values as a line of ticks."""
    return ticks(values, min(values), max(values)) if values else ""


def ticks(values: Sequence[float], low: float, high: float) -> str:
    """A tick per value on a scale from one number to another."""
    if high <= low:
        return TICKS[3] * len(values)
    return "".join(TICKS[min(len(TICKS) - 1, int((value - low) / (high - low) * len(TICKS)))] for value in values)


def _title(group: Group, part: str) -> str:
    return ", ".join(filter(None, (group.target, part, f"work {group.workload}", f"machines: {group.machine}")))


def _counted_series(count: int) -> str:
    return "1 series" if count == 1 else f"{count} series"


def _left_out(count: int) -> str:
    return f"; {counted(count, 'run')} left out by readers" if count else ""


def _series(metric: Metric, one: SeriesHistory) -> list[Block]:
    scale, unit = readable(metric.unit)
    shown = one.versions[-MOST_LINES:]
    low, high = min(one.levels), max(one.levels)
    begun = {change.version: change for change in one.changes}
    rows = [
        [
            Cell(line.version or "-"),
            Cell(line.ref[:12]),
            Cell(day(line.at_ns)),
            Cell(str(line.runs)),
            Cell(number(scale * line.estimate.estimate)),
            Cell(interval(line.estimate, scale) if line.over else "-"),
            Cell(ticks(_few(line.levels), low, high)),
            Cell(_in_short(begun[line.version], scale) if line.version in begun else ""),
        ]
        for line in shown
    ]
    columns = [
        *left("version"),
        Column("ref", "left", detail=all(line.ref.startswith(line.version) for line in shown if line.ref)),
        *left("measured"),
        *right("runs", unit or "estimate", "95 % interval"),
        *left("course", "change"),
    ]
    hidden = len(one.versions) - len(shown)
    notes = [f"The {counted(hidden, 'version')} before these aren't shown."] if hidden else []
    blocks: list[Block] = [
        Table(_title(one.group, one.part), columns, rows, [*notes, *_notes(shown, one.table)]),
        Paragraph(f"{sparkline(one.course)}  {number(scale * low)} to {number(scale * high)}"),
    ]
    if len(one.levels) <= FIRST and not one.table:
        blocks.append(Paragraph(f"Changes are looked for from the {FIRST + 1}th run on: here are {len(one.levels)}."))
    if one.changes:
        blocks.append(_table(one.changes))
        blocks += _explained(one.changes)
    return blocks


def _few(levels: Sequence[float], most: int = 12) -> Sequence[float]:
    """The newest of many."""
    return levels[-most:]


def _notes(shown: Sequence[VersionLine], table: str) -> list[str]:
    kinds = {line.over for line in shown}
    found = []
    if "runs" in kinds:
        found.append(f"Intervals include how much runs of one version differ{f': {table}' if table else ''}.")
    if "within" in kinds:
        found.append(
            "Intervals include what varies within runs only: nothing shows how much runs of one version differ."
        )
    return found


def _in_short(change: FoundChange, scale: float) -> str:
    size = change_of(change.ratio.estimate) if change.ratio else signed(scale * change.delta.estimate)
    return f"{change.word} {size}, {change.state}{'' if change.matters else ', within the margin'}"


def _explained(found: Sequence[FoundChange]) -> list[Paragraph]:
    """Sentences about what else changed, with the changes that it may explain."""
    by_words: dict[str, list[str]] = {}
    for one in found:
        if one.explanations:
            by_words.setdefault("; ".join(one.explanations), []).append(one.id)
    return [Paragraph(f"With {listed(names)}: {words}.") for words, names in by_words.items()]


def _table(found: Sequence[FoundChange]) -> Table:
    columns = [
        *left("change", "metric", "since", "version"),
        *right("difference"),
        *details("margin"),
        *left("", "how sure"),
        *right("p", "runs"),
    ]
    rows = [
        [
            Cell(one.id),
            Cell(", ".join(filter(None, (one.metric, one.part))), remark=_title(one.group, "")),
            Cell(day(one.at_ns)),
            Cell(f"{one.version_before} -> {one.version}" if one.version_before != one.version else one.version),
            Cell(difference_with_span(one.ratio, one.delta, readable(catalogue(one.group.bench)[one.metric].unit)[0])),
            Cell(percent(one.margin)),
            Cell("accepted" if one.accepted else one.word),
            Cell(one.state),
            Cell("-" if one.p is None else p_value(one.p)),
            Cell(str(one.runs)),
        ]
        for one in found
    ]
    several = {one.group for one in found}
    note = (
        f"Of {listed(sorted({_title(one, '') for one in several}))}."
        if len(several) <= 2
        else f"Of {len(several)} kinds of runs: `--json` has which."
    )
    return Table("Changes", columns, rows, [STATES_NOTE, note])
