"""The decision about a comparison, as plain data."""

from typing import Literal

import msgspec

from slotmark.compare.results.rows import Quantity, row_title

Answer = Literal["ship", "hold", "run again"]


class Needed(msgspec.Struct, frozen=True):
    """The further measurements that would give a verdict.

    Attributes:
        over: What is repeated: ``runs``, ``processes``, ``rounds``, ``paired rounds``, ``mixed rounds``, ``paired seeds``, ``blocks``, ``slots``, ``hosts``, ``seeds``.
        size: How many a side there are.
        total: About how many a side are needed, for four chances in five.
    """

    over: str
    size: int
    total: int

    @property
    def more(self) -> int:
        """Returns the number of further ones."""
        return self.total - self.size


class Cause(msgspec.Struct, frozen=True, kw_only=True):
    """A reason why a candidate doesn't ship.

    Attributes:
        metric: The id of a decisive metric; empty for a warning.
        name: Name of the metric; of a warning its kind.
        part: As of a row.
        quantity: As of a row; None for a warning.
        candidate: The side's name.
        answer: What it leads to: ``hold`` or ``run again``.
        reason: In words.
        needed: How much more is needed; None where it is unknown, or nothing more is needed.
        conditional: Whether all that is missing is enough runs.
        tips_at: For single runs, where the spread of runs of one build is unknown: the standard deviation of a run's mean, as a share, at which
            what they show would be chance; None of all else.
        lasting: Whether more of the same wouldn't change it: a run lacks the metric.
    """

    metric: str
    name: str
    part: str
    quantity: Quantity | None
    candidate: str
    answer: Answer
    reason: str
    needed: Needed | None = None
    conditional: bool = False
    tips_at: float | None = None
    lasting: bool = False

    @property
    def title(self) -> str:
        """The title of the row that it follows from; of a warning its kind."""
        return row_title(self.name, self.part, self.quantity)


class Decision(msgspec.Struct, frozen=True, kw_only=True):
    """The decision of a policy about a comparison.

    Attributes:
        answer: About all candidates: ``hold`` where one of them is held, else ``run again`` where one needs that, else ``ship``.
        line: The same in one line, with the metrics that cause it.
        policy: Its name.
        answers: One per candidate.
        reasons: Likewise, the reason for the answer, in words.
        causes: Why not ``ship``, candidate by candidate.
        accepted: Regressions that the policy accepts, in words.
        decisive: How many metrics are decisive.
        run_to_run: Where means of runs are compared: from what it is known how much runs of one build differ, in words.
    """

    answer: Answer
    line: str
    policy: str
    answers: list[Answer]
    reasons: list[str]
    causes: list[Cause] = []
    accepted: list[str] = []
    decisive: int
    run_to_run: str = ""
