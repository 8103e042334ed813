"""Numbers as people read them: four significant digits, thousands apart."""

import math

from slotmark.compare import Interval


def number(value: float, digits: int = 4) -> str:
    """A number with about ``digits`` significant digits and thousands set apart; whole digits are never dropped."""
    if not math.isfinite(value):
        return "-"
    if value == 0:
        return "0"
    decimals = max(0, digits - 1 - math.floor(math.log10(abs(value))))
    return f"{value:,.{min(decimals, 9)}f}"


def interval(value: Interval) -> str:
    """The two ends of an interval."""
    return f"{number(value.low)} to {number(value.high)}"


def ratio(value: float) -> str:
    """A ratio with its sign of multiplication: three decimals near 1, fewer far from it."""
    return f"{value:.3f}×" if value < 10 else f"{number(value, 3)}×"


def ratio_interval(value: Interval) -> str:
    """A ratio with its interval."""
    if value.low == value.high:
        return ratio(value.estimate)
    return f"{ratio(value.estimate)} [{ratio(value.low)[:-1]}, {ratio(value.high)[:-1]}]"


def p_value(value: float, repetitions: int) -> str:
    """A p-value, bounded by what so many repetitions can tell."""
    least = 2 / (repetitions + 1)
    if value <= least:
        return f"≤ {least:.2g}"
    return "1" if value >= 1 else f"{value:.2g}"


def percent(fraction: float) -> str:
    """A fraction as a percentage."""
    return f"{100 * fraction:.3g} %"
