"""The result of `plan`: the efforts that a decision takes, and the differences that runs could show."""

import msgspec

from slotmark.compare.result import Side
from slotmark.compare.results.details import Planned
from slotmark.compare.results.rows import Design
from slotmark.metrics import Metric
from slotmark.warnings import Warning


class Effort(msgspec.Struct, frozen=True, kw_only=True):
    """Runs or rounds of one design that are enough.

    Attributes:
        design: Which.
        count: Runs per side, or rounds, that are enough four times in five; None where no number within reach is.
        at_least: Whether nothing shows how much runs differ from run to run, so that more may be needed.
        takes_s: The time that they take one after the other, by those that are there; None where it is unknown.
    """

    design: Design
    count: int | None
    at_least: bool
    takes_s: float | None


class Shown(msgspec.Struct, frozen=True, kw_only=True):
    """A decisive metric, and the efforts that show it to be not worse beyond its margin where it doesn't change.

    Attributes:
        metric: The metric.
        part: In which part.
        margin: As a share of the mean.
        efforts: One per design that shows the metric.
    """

    metric: Metric
    part: str
    margin: float
    efforts: list[Effort]


class Wanted(msgspec.Struct, frozen=True, kw_only=True):
    """A difference that is to be found, and the efforts that find it.

    Attributes:
        metric: The metric.
        part: In which part.
        change: The difference, as a share of the mean.
        efforts: One per design that shows the metric.
        over: What varies within a run: ``blocks``, ``slots`` or ``hosts``; empty where only mixed rounds show it.
        units: How many of them one run per side needs for that, which then holds for those two runs only; None where it is unknown, or where they are
            machines, of which no run has as many as one likes.
    """

    metric: Metric
    part: str
    change: float
    efforts: list[Effort]
    over: str
    units: int | None


class Unknown(msgspec.Struct, frozen=True, kw_only=True):
    """A design whose spread these runs don't show, and the remedy."""

    design: Design
    remedy: str


class Plan(msgspec.Struct, frozen=True, kw_only=True):
    """The efforts that a decision takes with runs like these, and the differences that they could show.

    Attributes:
        bench: The bench of all runs.
        sides: The builds with their runs and the warnings about them; of mixed rounds both builds together.
        policy: Which metrics decide, and by which margins, in words.
        decision: The efforts for all decisive metrics together, one per design.
        shown: The efforts for each of them.
        wanted: The efforts for the asked differences.
        unknown: The designs whose spread these runs don't show.
        planned: The differences that comparisons of so many runs per side find, metric by metric; None where all runs are mixed rounds.
        warnings: Warnings about the runs as a whole.
        confidence: Confidence of verdicts, as a fraction.
    """

    bench: str
    sides: list[Side]
    policy: str
    decision: list[Effort]
    shown: list[Shown]
    wanted: list[Wanted]
    unknown: list[Unknown]
    planned: Planned | None
    warnings: list[Warning]
    confidence: float
