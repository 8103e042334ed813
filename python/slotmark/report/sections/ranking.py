"""The ranking of different targets: a table per part, ready to be pasted."""

from slotmark.compare.result import Comparison, PartRanking, Ranked, TargetRanking
from slotmark.compare.results.rows import Difference
from slotmark.numbers import change_with_span, interval, number, percent
from slotmark.report.document import CONDITIONAL, Block, Cell, Paragraph, Table, left, right
from slotmark.report.sections.cells import (
    DIRECTION,
    condition_notes,
    contradictions,
    headed,
    in_a_sentence,
    margin_in_words,
)
from slotmark.report.sections.manifest import compared
from slotmark.verdict import Verdict
from slotmark.words import listed


def ranked(comparison: Comparison) -> list[Block]:
    """A table per part, and how to read them; nothing where no targets are ranked. Without a decision, first what is compared."""
    ranking = comparison.ranking
    if ranking is None:
        return []
    every = [one.next for part in ranking.parts for one in part.ranked]
    return [
        *([] if comparison.decision else compared(comparison.sides)),
        *(_table(comparison, ranking, part) for part in ranking.parts),
        Paragraph(
            " ".join(
                [
                    _how(comparison, ranking),
                    *contradictions(row for row in comparison.rows if row.metric == ranking.metric),
                ]
            )
        ),
        *map(Paragraph, condition_notes(every)),
    ]


def _table(comparison: Comparison, ranking: TargetRanking, part: PartRanking) -> Table:
    names = [side.name for side in comparison.sides]
    columns = [
        *left("target"),
        *right(
            "place",
            headed(ranking.metric),
            f"{percent(comparison.confidence)} interval",
            *(headed(metric) for metric in ranking.beside),
        ),
        *left("against the next"),
    ]
    rows = [[Cell(names[one.side]), *_cells(ranking, one)] for one in part.ranked]
    having = {one.side for one in part.ranked}
    lacking = [name for side, name in enumerate(names) if side not in having]
    return Table(part.part, columns, rows, [f"Without this part: {listed(lacking)}."] if lacking else [])


def _cells(ranking: TargetRanking, one: Ranked) -> list[Cell]:
    return [
        Cell(one.place),
        Cell(number(one.level)),
        Cell(interval(one.interval) if one.interval else "-"),
        *(Cell("-" if level is None else number(level)) for level in one.beside),
        Cell("" if one.next is None else _against(ranking, one.next)),
    ]


def _against(ranking: TargetRanking, difference: Difference) -> str:
    """The difference from the target below: proven, too small to matter, or not shown."""
    ratio = difference.ratio
    by = change_with_span(ratio) if ratio else ""
    mark = CONDITIONAL if difference.conditional else ""
    match difference.verdict:
        case Verdict.BETTER | Verdict.WORSE:
            return f"{by}{mark}"
        case Verdict.EQUIVALENT:
            return f"equal within {margin_in_words(ranking.metric, difference)}{mark}"
        case _:
            return f"not distinguished{f': {by}' if by else ''}"


def _how(comparison: Comparison, ranking: TargetRanking) -> str:
    name = in_a_sentence(ranking.metric)
    adjusted = (
        f"; p-values are adjusted over all {comparison.tests:,} tests of the report, which include all pairs of targets"
        if comparison.tests > 1  # one alone isn't adjusted
        else ""
    )
    return (
        f"By {name}, {DIRECTION[ranking.metric.better]}: medians with their intervals. A place is a single one, or the "
        "first and the last that a target may have: it is below each target that is shown to be better beyond the margin, and above each that "
        f"is shown to be worse. Differences are of the typical pair, with their {percent(comparison.confidence)} intervals{adjusted}."
    )
