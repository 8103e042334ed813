"""The results of `release`: one answer of several comparisons, and the cost of one."""

from typing import Literal

import msgspec

from slotmark.compare.result import Comparison
from slotmark.compare.results.decision import Answer
from slotmark.compare.results.plan import Effort

RunSide = Literal["baseline", "candidate"]


class MissingRun(msgspec.Struct, frozen=True, kw_only=True):
    """A run that a release file names and that isn't there.

    Attributes:
        path: Its folder.
        side: Which side it belongs to.
        command: How to make it.
    """

    path: str
    side: RunSide
    command: str


class Compared(msgspec.Struct, frozen=True, kw_only=True):
    """A comparison of a release.

    Attributes:
        name: As in the file.
        bench: The bench of its runs.
        required: Whether nothing ships without it.
        answer: About it alone.
        why: The reason for the answer, in words.
        missing: Runs that aren't there.
        comparison: None where a side has no run at all.
    """

    name: str
    bench: str
    required: bool
    answer: Answer
    why: str
    missing: list[MissingRun] = []
    comparison: Comparison | None = None


class Released(msgspec.Struct, frozen=True, kw_only=True):
    """The answer about a release.

    Attributes:
        title: What is to be released.
        answer: ``hold`` where a comparison holds, else ``run again`` where a required one is undecided or lacks runs, else ``ship``.
        line: The same in one line.
        comparisons: In the order of the file.
        confidence: Confidence of all verdicts together: at most ``1 - confidence`` of releases without any difference hold in error.
    """

    title: str
    answer: Answer
    line: str
    comparisons: list[Compared]
    confidence: float


class Cost(msgspec.Struct, frozen=True, kw_only=True):
    """The cost of a decision about one comparison of a release.

    Attributes:
        name: As in the file.
        required: Whether nothing ships without it.
        there: Runs that are there, by side.
        missing: Runs that aren't.
        needed: The effort that shows, four times in five, that nothing decisive is worse where nothing is, by the design of the runs; None where it is unknown.
        why: Where ``needed`` comes from or why there is none, in words.
        run_s: How long a run takes, on average over those that are there; None where none is there or records it.
        left_s: How long the runs take that are still to be made, one after the other; None where that isn't known.
    """

    name: str
    required: bool
    there: dict[RunSide, int]
    missing: list[MissingRun]
    needed: Effort | None
    why: str
    run_s: float | None
    left_s: float | None


class ReleasePlan(msgspec.Struct, frozen=True, kw_only=True):
    """The cost of a decision about a release.

    Attributes:
        title: What is to be released.
        costs: One per comparison, in the order of the file.
        left_s: The sum of what is known of them, in seconds.
    """

    title: str
    costs: list[Cost]
    left_s: float
