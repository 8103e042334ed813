"""The result of `explain`: the causes of the differences between two sides."""

from slotmark.compare.result import Side
from slotmark.compare.results.attribution import Attribution


class Explanation(Attribution, frozen=True, kw_only=True, tag=False):
    """The causes of the differences between two sides.

    Attributes:
        bench: The bench of all runs.
        baseline: The first side.
        candidate: The second.
        confidence: Confidence of every interval, as a fraction.
    """

    bench: str
    baseline: Side
    candidate: Side
    confidence: float
