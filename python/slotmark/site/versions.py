"""The content of the page of a version: its runs compared with those of the version before, metric by metric, by the estimates of the store."""

from collections.abc import Iterator, Sequence
from itertools import pairwise

import msgspec

from slotmark.history.columns import whole
from slotmark.history.differences import Difference, differences
from slotmark.metrics import Metric
from slotmark.numbers import difference_with_span, number, readable, signed
from slotmark.site.gathered import Versions
from slotmark.site.names import of_metric, of_version
from slotmark.verdict import BY_CONCERN, Verdict

MOST_RUNS = 20
"""Runs of both versions that the command to copy has: a longer one isn't typed."""


class Line(msgspec.Struct, frozen=True):
    """A metric of the table: the name of its page, the metric, the part, the unit that it is shown in, both levels and the difference in words, the verdict and its reason."""

    page: str
    metric: Metric
    part: str
    unit: str
    before: str
    after: str
    difference: str
    verdict: Verdict | None
    reason: str


class VersionPage(msgspec.Struct, frozen=True):
    """The page of a version.

    Attributes:
        name: Its name.
        of: Target, work and machine in words.
        version: The version.
        before: The version before it.
        at_ns: When the first of its runs was measured.
        runs: Digests of its runs.
        runs_before: Those of the version before.
        counts: How often each verdict is given, in words.
        lines: The metrics, what got worse first.
    """

    name: str
    of: str
    version: str
    before: str
    at_ns: int
    runs: list[str]
    runs_before: list[str]
    counts: list[str]
    lines: list[Line]

    @property
    def command(self) -> list[list[str]]:
        """The runs of both, as the arguments of `slotmark compare` have them; empty where they are too many."""
        return [self.runs_before, self.runs] if len(self.runs_before) + len(self.runs) <= MOST_RUNS else []


def version_pages(every: Sequence[Versions]) -> Iterator[VersionPage]:
    """The pages of all versions that follow another one on the same kind of machine."""
    for one in every:
        by_id, places = {metric.id: metric for metric in one.metrics}, one.estimates.versions
        for before, version in pairwise(places):
            found = differences(one.estimates, one.metrics, one.spreads, places[before], places[version])
            lines = sorted(
                (_line(one, by_id[difference.metric], difference) for difference in found),
                key=_place,
            )
            sides = [[str(one.estimates.rows[place]["run"]) for place in places[side]] for side in (before, version)]
            yield VersionPage(
                name=of_version(one.estimates.group, version),
                of=one.of,
                version=version or "no version",
                before=before or "no version",
                at_ns=whole(one.estimates.rows[places[version][0]], "at_ns"),
                runs=sides[1],
                runs_before=sides[0],
                counts=[
                    f"{count} {verdict}"
                    for verdict in BY_CONCERN
                    if (count := sum(line.verdict == verdict for line in lines))
                ],
                lines=lines,
            )


def _line(one: Versions, metric: Metric, difference: Difference) -> Line:
    judgement, (scale, unit) = difference.judgement, readable(metric.unit)
    return Line(
        page=of_metric(one.estimates.group, metric.id, difference.part),
        metric=metric,
        part=difference.part,
        unit=unit,
        before=number(scale * difference.before),
        after=number(scale * difference.after),
        difference=difference_with_span(difference.ratio, difference.delta, scale)
        if difference.delta
        else signed(scale * (difference.after - difference.before)),
        verdict=judgement.verdict if judgement else None,
        reason=judgement.reason if judgement else "nothing tells what runs of one build differ by",
    )


def _place(line: Line) -> tuple[int, bool]:
    """The key by which lines are sorted: the verdict, then metrics that decide."""
    order = len(BY_CONCERN) if line.verdict is None else BY_CONCERN.index(line.verdict)
    return order, line.metric.rank != "decisive"
