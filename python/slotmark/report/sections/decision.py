"""The first screen of a report: the metrics that matter by rank, and what was found in a few sentences, decisive metrics first."""

from collections.abc import Sequence
from typing import get_args

from slotmark.compare.result import ALL, Cause, Comparison, Decision, Difference, Row
from slotmark.metrics import Rank
from slotmark.numbers import percent, percent_change
from slotmark.report.document import Block, Forest, Mark, Paragraph
from slotmark.report.sections.cells import in_a_sentence
from slotmark.words import few, listed

MOST_MARKS = 12
"""So many rows fit the first screen; decisive ones come first."""

MOST_SENTENCES = 5

MOST_NAMED = 4
"""Metrics that a sentence names."""

IN_MARGINS = 10
"""Where the axis of the forest ends at most, in the largest margin of a decisive metric: what lies farther is drawn at its end."""


def first_screen(comparison: Comparison, decision: Decision) -> list[Block]:
    """The forest, where it has any metric, and up to five sentences."""
    forest = _forest(comparison)
    return [*([forest] if forest.marks else []), *_sentences(comparison, decision)]


def _shown(comparison: Comparison, place: int) -> list[tuple[Row, Difference]]:
    """The rows of a candidate that have a verdict, by rank, in the order of the catalogue."""
    ranks = get_args(Rank)
    found = [
        (row, difference)
        for row in comparison.rows
        if (difference := row.differences[place]) is not None and difference.verdict is not None
    ]
    return sorted(found, key=lambda one: ranks.index(one[0].metric.rank))


def _forest(comparison: Comparison) -> Forest:
    several = len(comparison.candidates) > 1
    marks: list[Mark] = []
    for place, side in enumerate(comparison.candidates):
        for row, difference in _shown(comparison, place):
            if row.metric.rank != "informative":
                marks.append(_mark(row, difference, side.name if several else ""))
    ranks = get_args(Rank)
    marks.sort(key=lambda mark: ranks.index(mark.rank))
    left = len(marks) - MOST_MARKS
    kept = marks[:MOST_MARKS]
    note = (
        f"Difference from {comparison.baseline.name} in percent, with its {percent(comparison.confidence)} interval; shaded: the margin. "
        "Bold: decisive."
    )
    reach = _reach(kept)
    beyond = any(abs(end) > reach for mark in kept for end in mark.ends or ())
    far = " What lies beyond the axis stands at its end." if beyond else ""
    more = f" {left} more in the tables." if left > 0 else ""
    return Forest(kept, reach, note + far + more)


def _mark(row: Row, difference: Difference, side: str) -> Mark:
    ratio, margin = difference.ratio, difference.margin
    return Mark(
        name=f"{row.title}, {side}" if side else row.title,
        rank=row.metric.rank,
        verdict=difference.verdict or "inconclusive",
        text=f"{percent_change(ratio.estimate)} %" if ratio else "-",
        span=f"{percent_change(ratio.low)} to {percent_change(ratio.high)}" if ratio and ratio.low < ratio.high else "",
        ends=(ratio.estimate - 1, ratio.low - 1, ratio.high - 1) if ratio else None,
        margin=(1 / (1 + margin) - 1, margin),
        conditional=difference.conditional,
    )


def _reach(marks: Sequence[Mark]) -> float:
    """Where the axis ends on both sides, as a fraction."""
    farthest = [abs(end) for mark in marks for end in (*(mark.ends or ()), *mark.margin)]
    margins = [mark.margin[1] for mark in marks if mark.rank == "decisive"] or [mark.margin[1] for mark in marks]
    most = IN_MARGINS * max(margins, default=0.0) or 0.2
    return min(1.05 * max(farthest, default=most), most) or 0.01


def _sentences(comparison: Comparison, decision: Decision) -> list[Paragraph]:
    several = len(comparison.candidates) > 1
    told: list[Paragraph] = []
    for place, side in enumerate(comparison.candidates):
        begin = f"{side.name}: " if several else ""
        causes = [cause for cause in decision.causes if cause.candidate == side.name]
        rows = _shown(comparison, place)
        found = [
            *_worse(causes, comparison.baseline.name, begin),
            *_unclear(causes, begin),
            *_fine(rows, causes, begin),
            *_others(rows, begin),
        ]
        told += found[:1] if several else found
    notes = [Paragraph(f"Accepted: {'; '.join(decision.accepted)}.")] if decision.accepted else []
    conditional = _conditional(comparison)
    return [*told[: MOST_SENTENCES - len(notes) - len(conditional)], *notes, *conditional]


def _worse(causes: Sequence[Cause], baseline: str, begin: str) -> list[Paragraph]:
    held = [cause for cause in causes if cause.answer == "hold"]
    if not held:
        return []
    return [
        Paragraph(
            f"{begin}Worse than {baseline}: {listed(few([f'{one.title} {one.reason}' for one in held], MOST_NAMED))}.",
            "worse",
        )
    ]


def _unclear(causes: Sequence[Cause], begin: str) -> list[Paragraph]:
    """What can't be told, with the reasons in the order of the catalogue."""
    unclear = [cause for cause in causes if cause.answer == "run again" and cause.metric and not cause.conditional]
    reasons: dict[str, list[str]] = {}
    for cause in unclear:
        reason, _, reach = cause.reason.partition(": ")
        reasons.setdefault(reason, []).append(f"{cause.title}{f' ({reach})' if reach else ''}")
    words = [f"{listed(few(names, MOST_NAMED))} {reason}" for reason, names in reasons.items()]
    doubts = [f"doubts: {cause.reason}" for cause in causes if not cause.metric]
    told = [f"{begin}Can't be told: {'; '.join(words)}."] if words else []
    told += [f"{begin}{one[:1].upper()}{one[1:]}" for one in doubts]
    return [Paragraph(one, "inconclusive") for one in told]


def _fine(rows: Sequence[tuple[Row, Difference]], causes: Sequence[Cause], begin: str) -> list[Paragraph]:
    """The decisive metrics that stand in nobody's way."""
    stopping = {(cause.metric, cause.part, cause.quantity) for cause in causes if not cause.conditional}
    fine = [
        in_a_sentence(row.metric) + (f" ({row.part})" if row.part != ALL else "")
        for row, _ in rows
        if row.metric.rank == "decisive" and (row.metric.id, row.part, row.quantity) not in stopping
    ]
    names = few(list(dict.fromkeys(fine)), MOST_NAMED)
    return [Paragraph(f"{begin}Shown not worse beyond the margin: {listed(names)}.", "equivalent")] if names else []


def _others(rows: Sequence[tuple[Row, Difference]], begin: str) -> list[Paragraph]:
    """What changed of important metrics, by name, and of informative ones, in numbers."""
    told = []
    for rank in ("important", "informative"):
        of_rank = [(row, difference) for row, difference in rows if row.metric.rank == rank]
        if not of_rank:
            continue
        parts = []
        for verdict in ("worse", "better"):
            names = [
                in_a_sentence(row.metric) + (f" ({percent_change(one.ratio.estimate)} %)" if one.ratio else "")
                for row, one in of_rank
                if one.verdict == verdict
            ]
            if names:
                shown = listed(few(names, MOST_NAMED)) if rank == "important" else str(len(names))
                parts.append(f"{verdict} {shown}" if rank == "important" else f"{shown} {verdict}")
        left = sum(one.verdict not in ("worse", "better") for _, one in of_rank)
        rest = [f"{'the other ' if parts else ''}{left} {'equivalent or inconclusive' if left else ''}"] if left else []
        told.append(f"{rank}: {'; '.join([*parts, *rest])}")
    if not told:
        return []
    text = ". ".join(f"{one[:1].upper()}{one[1:]}" for one in told)
    return [Paragraph(f"{begin}{text}.")]


def _conditional(comparison: Comparison) -> list[Paragraph]:
    runs = [len(side.manifests) for side in comparison.sides]
    held = any(one and one.conditional for row in comparison.rows for one in row.differences)
    if not held:
        return []
    counts = " and ".join(str(one) for one in dict.fromkeys(runs))
    return [
        Paragraph(
            f"Conditional on these runs ({counts} per side): they don't show how much another run of the same would differ."
        )
    ]
