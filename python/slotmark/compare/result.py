"""The result of a comparison, as plain data.

``compare`` (in :mod:`slotmark.compare.compare`) makes it from runs; report shows it. Nothing here computes.
"""

import datetime
from collections import Counter
from collections.abc import Sequence
from html import escape

import msgspec

from slotmark.cleaning import one_line
from slotmark.compare.results.decision import Decision
from slotmark.compare.results.details import Detail, Looks
from slotmark.compare.results.rows import OF_BLOCKS, Difference, Row
from slotmark.metrics import Metric
from slotmark.numbers import percent_change
from slotmark.run import Manifest
from slotmark.statistics.interval import Interval
from slotmark.verdict import Verdict
from slotmark.warnings import Warning


class Side(msgspec.Struct, frozen=True):
    """One side of a comparison: a run, or several of one target.

    Attributes:
        name: What to call it.
        manifest: Manifest of its first run.
        others: Manifests of its other runs.
        filters: What of its runs is analysed, in words; empty for benches without filters.
        facts: What follows from its first run's tables, as published manifests show it; names and values.
        warnings: Warnings about this side: its runs, their tables, or how it differs from the baseline.
    """

    name: str
    manifest: Manifest
    others: list[Manifest] = []
    filters: list[str] = []
    facts: list[tuple[str, str]] = []
    warnings: list[Warning] = []

    @property
    def manifests(self) -> list[Manifest]:
        """The manifests of all its runs, in order."""
        return [self.manifest, *self.others]


class Ranked(msgspec.Struct, frozen=True, kw_only=True):
    """One side among different targets, in one part.

    Attributes:
        side: Its place in the order of the sides, from 0.
        first: Its best place: 1, and one more for each side that is shown to be better than it.
        last: Its worst place: as many as there are in the part, less those that it is shown to be better than.
        level: Level of the ranked metric, in its unit: the median.
        interval: Interval of the level; None where samples aren't independent.
        beside: The levels of the metrics beside it, in order; None where it lacks one.
        next: Against the one below it; None for the last, and where they were not compared.
    """

    side: int
    first: int
    last: int
    level: float
    interval: Interval | None
    beside: list[float | None]
    next: Difference | None

    @property
    def place(self) -> str:
        """Its place, or the places that it may have: ``1``, ``2-3``."""
        return str(self.first) if self.first == self.last else f"{self.first}-{self.last}"


class PartRanking(msgspec.Struct, frozen=True):
    """The sides that have one part, the best level first."""

    part: str
    ranked: list[Ranked]


class TargetRanking(msgspec.Struct, frozen=True, kw_only=True):
    """Different targets ranked by one metric.

    Attributes:
        metric: By which.
        beside: The metrics that stand beside it.
        parts: In the order of the rows.
        line: The ranking of one part in one line.
    """

    metric: Metric
    beside: list[Metric]
    parts: list[PartRanking]
    line: str


class Comparison(msgspec.Struct, frozen=True, kw_only=True):
    """One baseline against one or more candidates, metric by metric.

    Attributes:
        bench: The bench of all runs.
        baseline: The first side.
        candidates: The others.
        rows: In the order of the catalogue; parts by name.
        details: What the estimators have beyond the rows.
        tests: Over how many tests p-values were adjusted.
        comparisons: How many comparisons share the error rate: p-values are adjusted over these, too.
        confidence: Confidence of every interval, as a fraction.
        repetitions: Repetitions of the bootstrap, as many as were made.
        seed: Seed of the bootstrap.
        warnings: Warnings about the comparison as a whole; those about a side or a row are there.
        decision: What follows for the candidates; None where no metric is decisive, and where different targets are ranked and no
            policy was given.
        ranking: Ranking of different targets; None for versions of one, and where the bench ranks none.
    """

    bench: str
    decision: Decision | None = None
    ranking: TargetRanking | None = None
    baseline: Side
    candidates: list[Side]
    rows: list[Row]
    details: list[Detail] = []
    tests: int
    comparisons: int = 1
    confidence: float
    repetitions: int
    seed: int
    warnings: list[Warning]

    def __repr__(self) -> str:
        counts = Counter(one.verdict for row in self.rows for one in row.differences if one and one.verdict)
        found = ", ".join(f"{count:,} {verdict}" for verdict in Verdict if (count := counts[verdict]))
        names = ", ".join(side.name for side in self.candidates)
        return f"<Comparison of {names or 'nothing'} with {self.baseline.name}: {found or 'no verdicts'}>"

    def _repr_html_(self) -> str:
        """The decision or the ranking, and a table of the rows that have a verdict, for notebooks."""
        line = f"<p><b>{escape(self.line)}</b></p>" if self.line else ""
        head = "".join(f"<th>{name}</th>" for name in ("metric", "part", "candidate", "difference, %", "verdict"))
        lines = [
            (row.metric.name, row.part, side.name, percent_change(one.ratio.estimate) if one.ratio else "", one.verdict)
            for row in self.rows
            for side, one in zip(self.candidates, row.differences, strict=True)
            if one and one.verdict
        ]
        body = "".join(f"<tr>{''.join(f'<td>{escape(one_line(cell))}</td>' for cell in cells)}</tr>" for cells in lines)
        return f"{line}<table><tr>{head}</tr>{body}</table>"

    @property
    def line(self) -> str:
        """The result in one line: the decision, else the ranking; empty where there is neither."""
        return self.decision.line if self.decision else self.ranking.line if self.ranking else ""

    @property
    def costs(self) -> Metric:
        """The metric of repeated costs of blocks that is the first: :class:`Blocks` has more of it."""
        return next(row.metric for row in self.rows if row.quantity in OF_BLOCKS)

    @property
    def sides(self) -> list[Side]:
        """Baseline and candidates, in order."""
        return [self.baseline, *self.candidates]

    @property
    def baseline_age_s(self) -> float | None:
        """Time from the beginning of the baseline's newest run to that of the first candidate's oldest, in s; None where one isn't known."""
        ours, theirs = (side.manifests for side in self.sides[:2])
        try:
            first, last = ([datetime.datetime.fromisoformat(one.started) for one in side] for side in (ours, theirs))
            return (min(last) - max(first)).total_seconds()
        except (ValueError, TypeError):
            return None

    @property
    def at_any_look(self) -> bool:
        """Returns whether rounds come one by one, and results hold at all looks together."""
        return any(isinstance(one, Looks) for one in self.details)

    @property
    def all_warnings(self) -> list[Warning]:
        """Every warning: of the comparison, of each side (with its name as the subject), of each row; one entry for the same words."""
        of_rows = [one for row in self.rows for one in row.warnings]
        return by_words([*self.warnings, *warnings_of_sides(self.sides), *of_rows])


def origin_in_line(sides: Sequence[Side]) -> str:
    """Stands in the line of a result where runs were simulated: `` (simulated)``, `` (partly simulated)``."""
    origins = {manifest.origin for side in sides for manifest in side.manifests}
    return "" if "simulated" not in origins else " (simulated)" if len(origins) == 1 else " (partly simulated)"


def warnings_of_sides(sides: Sequence[Side]) -> list[Warning]:
    """The warnings about sides, each with its side's name as the subject."""
    return [
        msgspec.structs.replace(one, subject=": ".join(dict.fromkeys(filter(None, (side.name, one.subject)))))
        for side in sides
        for one in side.warnings
    ]


def by_words(warnings: Sequence[Warning]) -> list[Warning]:
    """One warning for the same words, with all its subjects; in the order in which words occur first."""
    subjects: dict[tuple[str, str], list[str]] = {}
    for one in warnings:
        subjects.setdefault((one.kind, one.text), []).append(one.subject)
    return [Warning(kind, text, "; ".join(dict.fromkeys(filter(None, of)))) for (kind, text), of in subjects.items()]
