"""The result of `growth`: metrics over the size of what was worked on."""

import msgspec

from slotmark.compare.result import Side
from slotmark.metrics import Metric


class Level(msgspec.Struct, frozen=True, kw_only=True):
    """The results of a target's processes at one size.

    Attributes:
        size: Size of their work.
        processes: Number of processes.
        mean: Mean of the processes' means, in the metric's unit.
        low: The lowest of these.
        high: The highest.
    """

    size: int
    processes: int
    mean: float
    low: float
    high: float


class Curve(msgspec.Struct, frozen=True, kw_only=True):
    """One metric of one target.

    Attributes:
        metric: The catalogue's entry.
        part: As of a row of a comparison.
        target: Which.
        levels: By rising size.
    """

    metric: Metric
    part: str
    target: str
    levels: list[Level]

    @property
    def factor(self) -> float | None:
        """The mean at the largest size over that at the smallest; None for one size, and where that isn't above 0."""
        first, last = self.levels[0].mean, self.levels[-1].mean
        return last / first if len(self.levels) > 1 and first > 0 else None


class Growth(msgspec.Struct, frozen=True, kw_only=True):
    """The changes of metrics with the size of the runs' work.

    Attributes:
        bench: Bench of all runs.
        along: What the size counts, in words.
        targets: In the order of the runs.
        sizes: All that occur, rising.
        curves: In the order of metrics, then of targets; none for what a target doesn't have.
        sides: The runs, with their warnings.
    """

    bench: str
    along: str
    targets: list[str]
    sizes: list[int]
    curves: list[Curve]
    sides: list[Side]
