"""The results of `history`, as plain data, and what follows from it: what a report shows."""

from typing import Literal

import msgspec

from slotmark.history.series import Group
from slotmark.statistics.change_points import Kind
from slotmark.statistics.few_points import few_points
from slotmark.statistics.interval import Interval
from slotmark.verdict import Verdict

State = Literal["sure", "likely", "new", "by E-divisive"]


class VersionLine(msgspec.Struct, frozen=True, kw_only=True):
    """A version in the history of a metric.

    Attributes:
        version: Its name.
        ref: The commit or tag of its first run; empty where none was given.
        runs: How many runs it has.
        at_ns: When the first of them was measured, in ns since 1970.
        estimate: The mean of its runs in the metric's unit, with its interval: of what runs of one build differ by, where that is known, else of what varies within.
        over: What the interval is over: ``runs``, or ``within`` for what varies within the only runs that there are; empty where it is unknown.
        levels: The estimate of each run, in the order of time.
    """

    version: str
    ref: str
    runs: int
    at_ns: int
    estimate: Interval
    over: Literal["runs", "within", ""]
    levels: list[float]


class FoundChange(msgspec.Struct, frozen=True, kw_only=True):
    """A change of a metric.

    Attributes:
        id: Its name: the same as long as its series and first run are.
        group: The runs of the series.
        metric: Its id.
        part: Which of its samples.
        kind: A step, or a drift.
        state: How sure it is.
        run: The digest of the first run of the new level; of a drift that of the first run off the level before.
        reached: The digest of the first run at the level where a drift ends; of a step as ``run``.
        name: That run's id.
        version: That run's version.
        version_before: The version of the run before it.
        at_ns: When that run was measured, in ns since 1970.
        known_ns: When the run was added with which the change became so sure.
        runs: Runs of the new level.
        before: The level before, in the metric's unit.
        after: The level after.
        ratio: After over before, with its interval; None where the level before isn't above 0.
        delta: After less before, in the metric's unit.
        better: Whether it is an improvement.
        p: p-value, adjusted over all series of these runs; None where none is known.
        margin: The margin of the metric, as a fraction.
        matters: Whether it is larger than the margin.
        explanations: What else changed with that run, in words, most likely first.
        accepted: The reason for which readers accept it; empty for none.
    """

    id: str
    group: Group
    metric: str
    part: str
    kind: Kind
    state: State
    run: str
    reached: str
    name: str
    version: str
    version_before: str
    at_ns: int
    known_ns: int
    runs: int
    before: float
    after: float
    ratio: Interval | None
    delta: Interval
    better: bool
    p: float | None
    margin: float
    matters: bool
    explanations: list[str]
    accepted: str = ""

    @property
    def verdict(self) -> Verdict:
        """The verdict on its direction."""
        return Verdict.BETTER if self.better else Verdict.WORSE

    @property
    def word(self) -> str:
        """That verdict, or that it is a drift."""
        return "drift" if self.kind == "drift" else self.verdict


class SeriesHistory(msgspec.Struct, frozen=True, kw_only=True):
    """The history of a metric in one part over runs that are alike.

    Attributes:
        group: Those runs.
        part: Which of its samples.
        versions: In the order of time.
        levels: The estimate of each run, likewise.
        table: The table that is known of what runs of one build differ by, in words; empty for none.
        changes: In the order of time.
    """

    group: Group
    part: str
    versions: list[VersionLine]
    levels: list[float]
    table: str
    changes: list[FoundChange]

    @property
    def course(self) -> list[float]:
        """The levels in few points, in the metric's unit."""
        return few_points(self.levels)


class History(msgspec.Struct, frozen=True, kw_only=True):
    """The history of a metric.

    Attributes:
        store: The store.
        bench: Bench of the metric.
        metric: Its id.
        series: One per group of runs and part.
        left_out: How many runs readers left out.
    """

    store: str
    bench: str
    metric: str
    series: list[SeriesHistory]
    left_out: int


class Changes(msgspec.Struct, frozen=True, kw_only=True):
    """The changes of all metrics.

    Attributes:
        store: The store.
        since_ns: The time from which on they became known; None for all.
        runs: How many runs were looked at.
        series: How many series.
        changes: Those that matter and aren't accepted, the newest first.
        accepted: Those that readers accept.
        within: How many are smaller than the margin of their metric.
        unsearched: How many series have too few runs to look for changes.
        left_out: How many runs readers left out.
    """

    store: str
    since_ns: int | None
    runs: int
    series: int
    changes: list[FoundChange]
    accepted: list[FoundChange]
    within: int
    unsearched: int
    left_out: int
