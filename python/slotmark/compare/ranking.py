"""The ranking of different targets that did the same work, part by part, and the line that names it. docs/decision.md explains it."""

from collections.abc import Mapping, Sequence
from itertools import combinations

from slotmark.cleaning import one_line
from slotmark.compare.estimators import ESTIMATORS, Entry, Task
from slotmark.compare.result import PartRanking, Ranked, Side, TargetRanking, origin_in_line
from slotmark.compare.results.rows import Difference, Row
from slotmark.metrics import Catalogue, Metric
from slotmark.numbers import number
from slotmark.verdict import MOVED, Verdict
from slotmark.words import few, listed

NAMED = 6
"""The most targets that are named in the line; the tables have all."""

Pair = tuple[int, int]
"""The places of two sides among all, the first below the second."""


def is_ranked(entries: Catalogue, sides: Sequence[Side]) -> bool:
    """Returns whether the sides are different targets of a bench that ranks them, not versions of one target."""
    return entries.ranking is not None and len({side.manifest.target.name for side in sides}) > 1


def entries_between_candidates(task: Task) -> list[Entry]:
    """Returns the estimators' results for the ranked metric between the candidates: an entry per part and candidate but the last.

    Args:
        task: With the ranked metric alone; the baseline is compared with all candidates in the comparison itself.
    """
    (metric,) = task.metrics
    estimator = ESTIMATORS[metric.estimator]
    return [
        entry
        for first in range(1, len(task.sides) - 1)
        for entry in estimator.estimate(Task(task.sides[first:], task.analyses[first:], task.metrics, task.how)).entries
    ]


def rank(
    entries: Catalogue, sides: Sequence[Side], rows: Sequence[Row], between: Sequence[Row], warnings: Sequence[str]
) -> TargetRanking:
    """The targets part by part, best level first.

    Args:
        entries: The catalogue, with its ranking.
        sides: All.
        rows: Rows of the comparison: the baseline against each other side.
        between: Entries of the ranked metric between the candidates, by :func:`entries_between_candidates`; judged with the rows.
        warnings: Kinds of warnings after which figures may be of something else than the targets.
    """
    assert entries.ranking is not None
    metric = next(
        (row.metric for row in rows if row.metric.id == entries.ranking.metric), entries[entries.ranking.metric]
    )
    beside = [entries[one] for one in entries.ranking.beside]
    levels = {(row.metric.id, row.part): row for row in rows}
    parts: list[PartRanking] = []
    for row in (row for row in rows if row.metric == metric):
        found = _differences(row, [one for one in between if one.part == row.part], len(sides))
        parts.append(_part(row, [levels.get((one.id, row.part)) for one in beside], found))
    return TargetRanking(metric=metric, beside=beside, parts=parts, line=_line(metric, sides, parts, warnings))


def _differences(row: Row, between: Sequence[Row], sides: int) -> dict[Pair, Difference]:
    """The difference of each pair that was compared: of the second side against the first."""
    found: dict[Pair, Difference] = {}
    for one in (row, *between):
        first = sides - len(one.summaries)
        found |= {
            (first, first + place): difference
            for place, difference in enumerate(one.differences, start=1)
            if difference is not None
        }
    return found


def _part(row: Row, beside: Sequence[Row | None], found: Mapping[Pair, Difference]) -> PartRanking:
    sign = -1 if row.metric.better == "higher" else 1
    present = [(level, side) for side, level in enumerate(row.levels) if level is not None]
    ahead = {side: 0 for _, side in present}
    behind = dict(ahead)
    for first, second in combinations(ahead, 2):
        difference = found.get((first, second))
        if difference is not None and difference.verdict in MOVED:
            faster, slower = (second, first) if difference.verdict == Verdict.BETTER else (first, second)
            behind[faster] += 1
            ahead[slower] += 1
    # By verdicts before medians: a typical ratio may go the other way.
    order = [side for _, side in sorted(present, key=lambda one: (ahead[one[1]], sign * one[0]))]
    ranked = []
    for place, side in enumerate(order):
        summary, level = row.summaries[side], row.levels[side]
        assert summary is not None
        assert level is not None
        after = order[place + 1] if place + 1 < len(order) else None
        ranked.append(
            Ranked(
                side=side,
                first=1 + ahead[side],
                last=len(order) - behind[side],
                level=level,
                interval=summary.median_interval,
                beside=[one.levels[side] if one else None for one in beside],
                next=None if after is None else _turned(found.get((min(side, after), max(side, after))), after < side),
            )
        )
    return PartRanking(part=row.part, ranked=ranked)


def _turned(difference: Difference | None, as_it_is: bool) -> Difference | None:
    """The difference of the side that stands before against the one after."""
    return difference if difference is None or as_it_is else difference.turned()


def _line(metric: Metric, sides: Sequence[Side], parts: Sequence[PartRanking], warnings: Sequence[str]) -> str:
    """The ranking in the first of the parts that most targets have, in one line, whatever the names of sides and parts hold; why there is none where nothing was compared."""
    origin = origin_in_line(sides)
    if not any(one.next for part in parts for one in part.ranked):
        why = f"no two targets have {f'the same part of {metric.name}' if parts else metric.name}"
        return one_line(f"NO RANKING{origin}: nothing was compared, as {why}")
    main = max(parts, key=lambda part: len(part.ranked))
    places = [f"{one.place} {sides[one.side].name} {number(one.level)}" for one in main.ranked]
    places[0] = f"{places[0]} {metric.unit}".strip()
    more = len(parts) - 1
    others = f"; {more} more part{'s' if more > 1 else ''} in the tables" if more else ""
    warned = f"; warnings: {listed(warnings)}" if warnings else ""
    part = f", {main.part}" if main.part else ""
    return one_line(f"RANKING{origin} by {metric.name}{part}: {', '.join(few(places, NAMED))}{others}{warned}")
