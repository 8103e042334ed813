"""An estimate with its confidence interval."""

import msgspec


class Interval(msgspec.Struct, frozen=True):
    """An estimate with its confidence interval, all three in one unit."""

    estimate: float
    low: float
    high: float
