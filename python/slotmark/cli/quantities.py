"""Arguments with units: durations and fractions."""

import re

from slotmark.errors import ArgumentError

_MICROSECONDS = {"ns": 1e-3, "us": 1.0, "µs": 1.0, "ms": 1e3, "s": 1e6, "min": 6e7}
_DURATION = re.compile(r"(\d+(?:\.\d+)?)\s*([a-zµ]+)")


def duration_us(option: str, text: str) -> float:
    """A duration such as ``250us`` or ``5min`` in microseconds; ArgumentError where it isn't one."""
    match = _DURATION.fullmatch(text.strip())
    if match is None or match[2] not in _MICROSECONDS:
        raise ArgumentError(
            f"{option} '{text}': expected a number and a unit of {', '.join(_MICROSECONDS)}, as in 250us."
        )
    return float(match[1]) * _MICROSECONDS[match[2]]


def fraction(option: str, text: str) -> float:
    """A share such as ``2%`` or ``0.02`` as a fraction between 0 and 1; ArgumentError where it isn't one."""
    try:
        value = float(text.removesuffix("%")) / (100 if text.endswith("%") else 1)
    except ValueError:
        value = -1.0
    if not 0 <= value < 1:
        raise ArgumentError(f"{option} '{text}': expected a share between 0 % and 100 %, as in 2% or 0.02.")
    return value
