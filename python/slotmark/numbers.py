"""Numbers as people read them: how many digits, thousands apart, units; intervals, p-values and shares; days.

Durations in s are shown in ms, however long they are. What rounds to 0 has no sign.
"""

import datetime
import math

from slotmark.statistics.interval import Interval

LEAST_P = 1e-15
"""The least p-value that is printed: floating-point numbers don't distinguish smaller ones from 0."""

MOST_PERCENT = 999_999
"""A difference above this is printed as larger: an interval of two rounds may end anywhere."""


def number(value: float, digits: int = 4) -> str:
    """A number with about ``digits`` significant digits and thousands set apart; whole digits are never dropped."""
    if not math.isfinite(value):
        return "-"
    if value == 0:
        return "0"
    decimals = max(0, digits - 1 - math.floor(math.log10(abs(value))))
    return f"{value:z,.{min(decimals, 9)}f}"


def brief(value: float, digits: int = 3) -> str:
    """A number with at most ``digits`` significant digits, none of them a closing 0; whole digits are never dropped: ``5``, ``0.25``, ``1,234``."""
    text = f"{value:z.{digits}g}"
    return f"{value:,.0f}" if "e+" in text else text


def fixed(value: float, decimals: int = 0, *, sign: bool = False) -> str:
    """A number with so many decimals and thousands set apart: ``1,235``, ``0.50``; on request with its sign: ``+1.2``."""
    return f"{value:{'+' if sign else ''}z,.{decimals}f}"


def independent(*effective: float) -> str:
    """The worth of values that resemble their neighbours, by side: ``as informative as 3.4 and 12 independent ones``."""
    if max(effective) < 1:
        return "less informative than 1 independent one"
    words = [brief(one) if one >= 1 else "less than 1" for one in effective]
    return f"as informative as {' and '.join(words)} independent ones"


def plain(value: float) -> str:
    """A value as somebody stated it, with no digit more: ``50``, ``0.05``, ``20000``."""
    return f"{value:.12g}"


def megabytes(size_bytes: float) -> str:
    """A size on disk, in units of 1,000,000 bytes: ``1,234.6 MB``."""
    return f"{fixed(size_bytes / 1e6, 1)} MB"


def gibibytes(size_bytes: float) -> str:
    """The size of a machine's memory, in units of 1,073,741,824 bytes: ``62.8 GiB``."""
    return f"{fixed(size_bytes / (1 << 30), 1)} GiB"


def mebibytes(size_bytes: float) -> str:
    """A size in memory or its limit, in units of 1,048,576 bytes: ``64 MiB``."""
    return f"{fixed(size_bytes / (1 << 20))} MiB"


def signed_interval(value: Interval, scale: float = 1.0, digits: int = 3) -> str:
    """The two ends of an interval of a difference, each with its sign and multiplied by ``scale``."""
    return f"{signed(scale * value.low, digits)} to {signed(scale * value.high, digits)}"


def signed(value: float, digits: int = 3) -> str:
    """A difference: as :func:`number`, with a sign."""
    return f"+{number(value, digits)}" if value > 0 else number(value, digits)


def interval(value: Interval, scale: float = 1.0) -> str:
    """The two ends of an interval, multiplied by ``scale``."""
    return f"{number(scale * value.low)} to {number(scale * value.high)}"


def ratio(value: float) -> str:
    """A ratio with its sign of multiplication: three decimals near 1, fewer far from it."""
    return f"{value:.3f}×" if value < 10 else f"{number(value, 3)}×"


def ratio_interval(value: Interval) -> str:
    """A ratio with its interval."""
    if value.low == value.high:
        return ratio(value.estimate)
    return f"{ratio(value.estimate)} [{ratio(value.low)[:-1]} to {ratio(value.high)[:-1]}]"


def p_value(p: float, *, bound: bool = False) -> str:
    """A p-value with two significant digits.

    Args:
        p: From 0 to 1.
        bound: Whether it is an upper bound: the bootstrap could give no smaller one.
    """
    if p < LEAST_P:
        return f"< {LEAST_P:.0g}"
    if p >= 1:
        return "1"
    return f"< {p:.2g}" if bound else f"{p:.2g}"


def percent(fraction: float, digits: int = 3) -> str:
    """A fraction as a percentage with at most ``digits`` significant digits: ``2 %``, ``0.5 %``, ``1,200 %``."""
    return f"{brief(100 * fraction, digits)} %"


def share(text: str) -> float | None:
    """The fraction that a share such as ``2%``, ``2 %`` or ``0.02`` stands for; None where it is none from 0 to below 1."""
    try:
        value = float(text.removesuffix("%")) / (100 if text.endswith("%") else 1)
    except ValueError:
        return None
    return value if 0 <= value < 1 else None


def change(value: float) -> str:
    """A ratio as a difference in percent, with its sign and its unit: ``+3.2 %``, ``-76.4 %``, ``+1,785 %``."""
    return f"{percent_change(value)} %"


def span(value: Interval) -> str:
    """An interval of a ratio as differences in percent: ``-2.9 to +1.4 %``."""
    low, high = percent_change(value.low), percent_change(value.high)
    return f"{low} %" if low == high else f"{low} to {high} %"


def change_with_span(value: Interval) -> str:
    """A ratio with its interval as differences in percent: ``+3.2 % [+2.9 to +3.5 %]``; without the interval where it would print as the same."""
    estimate, ends = change(value.estimate), span(value)
    return estimate if ends == estimate else f"{estimate} [{ends}]"


def difference_with_span(ratio: Interval | None, delta: Interval, scale: float = 1.0) -> str:
    """A difference with its interval: in percent where there is a ratio, else in the unit, multiplied by ``scale``."""
    if ratio is not None:
        return change_with_span(ratio)
    return f"{signed(scale * delta.estimate)} [{signed_interval(delta, scale)}]"


def point_unit(unit: str) -> str:
    """The unit of a difference between two values: percentage points of what is in percent, else their own."""
    return "pp" if unit == "%" else unit


def readable(unit: str) -> tuple[float, str]:
    """A factor and the unit that it leads to: durations in s are shown in ms."""
    return (1e3, "ms") if unit == "s" else (1.0, unit)


def quantity(value: float, unit: str) -> str:
    """A difference that matters, with its unit as of :func:`readable`, at most three significant digits; percentages in ``pp``; ``-`` for no number."""
    if not math.isfinite(value):
        return "-"
    scale, shown = readable(unit)
    return f"{brief(scale * value)} {point_unit(shown)}".strip()


def signed_quantity(value: float, unit: str) -> str:
    """A difference as :func:`quantity`, with its sign: ``+0.3 pp``, ``-12 ms``."""
    return f"{'+' if 0 < value < math.inf else ''}{quantity(value, unit)}"


def percent_change(value: float) -> str:
    """A ratio as a difference in percent, with its sign and without the unit: ``+3.2``, ``-0.45``; far ends of intervals as a bound."""
    share = 100 * (value - 1)
    if share > MOST_PERCENT:
        return f"> +{MOST_PERCENT:,}"
    digits = 0 if abs(share) >= 100 else 1 if abs(share) >= 0.95 else 2
    text = f"{share:+,.{digits}f}"
    return "0" if round(share, digits) == 0 else text


def duration(seconds: float) -> str:
    """Returns a time to wait, in words: ``8 s``, ``3 min``, ``2.5 h``, ``26 days``."""
    if seconds < 100:
        return f"{seconds:.0f} s"
    if seconds < 6_000:
        return f"{seconds / 60:.0f} min"
    return f"{seconds / 3_600:.1f} h" if seconds < 3 * 86_400 else f"{seconds / 86_400:,.0f} days"


def day(at_ns: int) -> str:
    """A time in ns since 1970 as its day, in UTC: ``2026-09-01``."""
    return datetime.datetime.fromtimestamp(at_ns // 10**9, datetime.UTC).strftime("%Y-%m-%d")
