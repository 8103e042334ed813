"""An estimate with its confidence interval."""

import msgspec

BOUNDS = 0.98
"""The confidence of the interval whose ends decide: each end alone is wrong in at most 1 of 100 cases."""


class Interval(msgspec.Struct, frozen=True):
    """An estimate with its confidence interval, all three in one unit."""

    estimate: float
    low: float
    high: float

    def from_base(self, base: float) -> "Interval":
        """A difference from a base above 0, as a ratio to it."""
        return Interval(*(1 + one / base for one in (self.estimate, self.low, self.high)))
