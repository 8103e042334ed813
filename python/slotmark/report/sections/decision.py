"""The first screen of a report: the metrics that matter by rank, and what was found in a few sentences, decisive metrics first."""

from collections.abc import Collection, Sequence
from statistics import median
from typing import get_args

from slotmark.compare.result import Comparison
from slotmark.compare.results.decision import Cause, Decision
from slotmark.compare.results.rows import NOT_KNOWN, OF_BLOCKS, Difference, Row
from slotmark.metrics import Rank
from slotmark.numbers import percent, percent_change, quantity
from slotmark.report.document import Block, Forest, Mark, Paragraph
from slotmark.report.sections.cells import (
    MOST_NAMED,
    OF_TYPICAL_BLOCK,
    change_in_words,
    contradictions,
    in_a_sentence,
    levels_in_words,
    link_of,
    margin_in_words,
    moved,
    threshold_in_words,
)
from slotmark.report.sections.manifest import compared
from slotmark.verdict import MOVED, Verdict
from slotmark.words import few, listed

MOST_MARKS = 12
"""The most rows on the first screen; decisive ones come first."""

MOST_LINES = 6
"""The most decisive rows with a line of their own, those that stop a release first."""

MOST_OTHERS = 3
"""Candidates whose other metrics have a sentence."""

IN_MARGINS = 10
"""The end of the forest's axis at most, in the median margin of decisive metrics: what lies farther is drawn at its end."""


def first_screen(comparison: Comparison, decision: Decision) -> list[Block]:
    """The first screen: the sides, the forest where it has any metric, a line per decisive metric, and a few sentences."""
    found = forest(comparison)
    return [*compared(comparison.sides), *([found] if found.marks else []), *_sentences(comparison, decision)]


def shown(comparison: Comparison, place: int) -> list[tuple[Row, Difference]]:
    """The rows of a candidate that have a verdict, by rank, in the order of the catalogue."""
    ranks = get_args(Rank)
    found = [
        (row, difference)
        for row in comparison.rows
        if (difference := row.differences[place]) is not None and difference.verdict is not None
    ]
    return sorted(found, key=lambda one: ranks.index(one[0].metric.rank))


def forest(comparison: Comparison, of: Collection[Rank] = ("decisive", "important"), most: int = MOST_MARKS) -> Forest:
    """The rows that have a verdict, decisive metrics first.

    Args:
        comparison: The comparison.
        of: Ranks of the metrics.
        most: Rows at most; the note has how many there are beyond.
    """
    several = len(comparison.candidates) > 1
    marks: list[Mark] = []
    marked: list[Row] = []
    typical = False
    for place, side in enumerate(comparison.candidates):
        for row, difference in shown(comparison, place):
            if row.metric.rank in of:
                marks.append(_mark(comparison, row, place, difference, side.name if several else ""))
                marked.append(row)
                typical |= row.quantity == OF_BLOCKS[0]
    ranks = get_args(Rank)
    marks.sort(key=lambda mark: ranks.index(mark.rank))
    left = len(marks) - most
    kept = marks[:most]
    note = f"Difference from {comparison.baseline.name} in percent, with its {percent(comparison.confidence)} interval.{f' {OF_TYPICAL_BLOCK}' if typical else ''}"
    note = " ".join([note, *contradictions(marked)])
    reach = _reach(kept)
    beyond = any(abs(end) > reach for mark in kept for end in mark.ends or ())
    return Forest(kept, reach, note, max(0, left), beyond)


def _mark(comparison: Comparison, row: Row, place: int, difference: Difference, side: str) -> Mark:
    ratio = difference.ratio
    return Mark(
        name=": ".join(filter(None, (side, row.title))),
        rank=row.metric.rank,
        verdict=difference.verdict or Verdict.UNDECIDED,
        values=levels_in_words(row, place),
        text=change_in_words(row.metric, difference),
        span=f"{percent_change(ratio.low)} to {percent_change(ratio.high)}" if ratio and ratio.low < ratio.high else "",
        ends=(ratio.estimate - 1, ratio.low - 1, ratio.high - 1) if ratio else None,
        margin=(difference.limits[0] - 1, difference.limits[1] - 1),
        limit=margin_in_words(row.metric, difference),
        threshold=threshold_in_words(row, difference),
        link=link_of(comparison, row, place),
        conditional=difference.conditional,
    )


def _reach(marks: Sequence[Mark]) -> float:
    """Returns the end of the axis on both sides, as a fraction.

    A margin in a metric's unit may be several times a small level, and an axis for that would have all others in its middle.
    """
    farthest = [abs(end) for mark in marks for end in (*(mark.ends or ()), *mark.margin)]
    margins = [mark.margin[1] for mark in marks if mark.rank == "decisive"] or [mark.margin[1] for mark in marks]
    most = IN_MARGINS * (median(margins) if margins else 0.0) or 0.2
    return min(1.05 * max(farthest, default=most), most) or 0.01


def _sentences(comparison: Comparison, decision: Decision) -> list[Block]:
    several = len(comparison.candidates) > 1
    others = [
        one
        for place, side in enumerate(comparison.candidates)
        for one in _others(shown(comparison, place), comparison.confidence, f"{side.name}: " if several else "")
    ]
    return [*lines(comparison, decision), *others[:MOST_OTHERS], *notes(comparison, decision)]


def notes(comparison: Comparison, decision: Decision) -> list[Block]:
    """Paragraphs on what was accepted, and on what the decision holds for."""
    accepted = [Paragraph(f"Accepted: {'; '.join(decision.accepted)}.")] if decision.accepted else []
    return [*accepted, *_run_to_run(decision), *_conditional(comparison)]


def lines(comparison: Comparison, decision: Decision) -> list[Paragraph]:
    """A line per decisive row in plain words, six at most, and one per warning that keeps from shipping."""
    found = _lines(comparison, decision)
    left = len(found) - MOST_LINES
    more = [Paragraph(f"{left} more lines of decisive metrics are in the tables.")] if left > 0 else []
    return [*found[:MOST_LINES], *more, *_warnings(decision, len(comparison.candidates) > 1)]


def _lines(comparison: Comparison, decision: Decision) -> list[Paragraph]:
    """A line per decisive row and candidate, in plain words; those that stop a release come first."""
    found: list[tuple[int, Paragraph]] = []
    for place, side in enumerate(comparison.candidates):
        causes = {
            (one.metric, one.part, one.quantity): one
            for one in decision.causes
            if one.candidate == side.name and (one.tips_at is not None or not one.conditional)
        }
        begin = f"{side.name}: " if len(comparison.candidates) > 1 else ""
        named = set()
        for row, difference in shown(comparison, place):
            if row.metric.rank == "decisive":
                key = row.metric.id, row.part, row.quantity
                named.add(key)
                found.append(_line(comparison, row, place, difference, causes.get(key), begin))
        found += [
            (1, Paragraph(f"{begin}{one.title}: {one.reason}.", Verdict.UNDECIDED))
            for key, one in causes.items()
            if one.metric and key not in named
        ]
    return [one for _, one in sorted(found, key=lambda one: one[0])]


def _amount(row: Row, difference: Difference) -> str:
    """A difference of which nothing is a share, in words."""
    if difference.delta is None or difference.margin_absolute is None:
        return "not comparable"
    size = difference.delta.estimate
    if size == 0:
        return "the same"
    return f"{quantity(abs(size), row.metric.unit)} {'lower' if size < 0 else 'higher'}"


def _line(
    comparison: Comparison, row: Row, place: int, difference: Difference, cause: Cause | None, begin: str
) -> tuple[int, Paragraph]:
    """A decisive row in plain words, behind its place in the order."""
    levels = levels_in_words(row, place)
    change = moved(row, place, difference.ratio) if difference.ratio else f"{_amount(row, difference)} ({levels})"
    what = f"{begin}{row.title} is {change}"
    limit = margin_in_words(row.metric, difference)
    if cause is None:
        return 2, Paragraph(f"{what}: shown not {Verdict.WORSE} beyond its margin of {limit}.", Verdict.EQUIVALENT)
    if cause.answer == "hold":
        return 0, Paragraph(
            f"{what}: {Verdict.WORSE} than {comparison.baseline.name} beyond the margin of {limit}.", Verdict.WORSE
        )
    if cause.tips_at is not None:
        return 1, Paragraph(f"{begin}{row.title} ({levels}): {cause.reason}.", Verdict.UNDECIDED)
    reason = cause.reason if cause.reason.startswith("no verdict") else f"no verdict, {cause.reason}"
    return 1, Paragraph(f"{what}: {reason}.", Verdict.UNDECIDED)


def _warnings(decision: Decision, several: bool) -> list[Paragraph]:
    """Returns the warnings that keep everything from shipping, once for all candidates that have them."""
    reasons: dict[str, list[str]] = {}
    for cause in decision.causes:
        if not cause.metric:
            reasons.setdefault(cause.reason, []).append(cause.candidate)
    return [
        Paragraph(f"{f'{listed(sides)}: ' if several else ''}Warnings: {reason}", Verdict.UNDECIDED)
        for reason, sides in reasons.items()
    ]


def _others(rows: Sequence[tuple[Row, Difference]], confidence: float, begin: str) -> list[Paragraph]:
    """Returns the changes of important metrics, by name, and the number of those of informative ones.

    Important ones without a verdict, whose intervals are worse than the margin as a whole, have their names too: such a figure stands above this sentence,
    which may not count it with what is equivalent.
    """
    parts_by_rank = []
    for rank in ("important", "informative"):
        of_rank = [(row, difference) for row, difference in rows if row.metric.rank == rank]
        if not of_rank:
            continue
        parts = []
        for verdict in reversed(MOVED):
            names = [_with_change(row, one) for row, one in of_rank if one.verdict == verdict]
            if names:
                shown = listed(few(names, MOST_NAMED)) if rank == "important" else str(len(names))
                parts.append(f"{verdict} {shown}" if rank == "important" else f"{shown} {verdict}")
        beyond = [
            _with_change(row, one) for row, one in of_rank if rank == "important" and row.open_beyond(one, confidence)
        ]
        if beyond:
            names = listed(few(beyond, MOST_NAMED))
            parts.append(f"no verdict on {names}, though {Verdict.WORSE} than the margin by the whole interval")
        left = sum(one.verdict not in MOVED for _, one in of_rank) - len(beyond)
        rest = (
            [f"{'the other ' if parts else ''}{left} {f'{Verdict.EQUIVALENT} or {Verdict.UNDECIDED}' if left else ''}"]
            if left
            else []
        )
        parts_by_rank.append(f"{rank}: {'; '.join([*parts, *rest])}")
    if not parts_by_rank:
        return []
    text = ". ".join(f"{one[:1].upper()}{one[1:]}" for one in parts_by_rank)
    return [Paragraph(f"{begin}{text}.")]


def _with_change(row: Row, difference: Difference) -> str:
    """A metric's name in a sentence, with its change."""
    change = f" ({percent_change(difference.ratio.estimate)} %)" if difference.ratio else ""
    return f"{in_a_sentence(row.metric)}{change}"


def _run_to_run(decision: Decision) -> list[Paragraph]:
    """Returns the source of the figure for how much runs of one build differ; without one, there is the note on single runs."""
    if decision.run_to_run in ("", NOT_KNOWN):
        return []
    return [Paragraph(f"Variation between runs of one build: {decision.run_to_run}.")]


def _conditional(comparison: Comparison) -> list[Paragraph]:
    runs = [len(side.manifests) for side in comparison.sides]
    held = any(one and one.conditional for row in comparison.rows for one in row.differences)
    if not held:
        return []
    counts = " and ".join(str(one) for one in dict.fromkeys(runs))
    return [
        Paragraph(
            f"Conditional on these runs ({counts} per side): they don't show how much another run of the same build would differ."
        )
    ]
