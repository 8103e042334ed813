"""Arguments with units: durations, fractions, and shares of metrics."""

from slotmark.errors import ArgumentError
from slotmark.numbers import share


def duration_us(option: str, text: str) -> float:
    """A duration such as ``250us`` or ``5min``, for which ``5m`` stands too, in microseconds; ArgumentError where it isn't one."""
    from slotmark import _core

    minutes = text[:-1] if text.endswith("m") else ""
    found = _core.quantity(f"{minutes}min" if minutes[-1:].isdigit() else text)
    if found is None or found[2] != "a duration":
        raise ArgumentError(
            f"{option} '{text}': expected a number and a unit of {', '.join(_core.duration_units())}, as in 250us."
        )
    number, _, _, worth_ns = found
    return number * worth_ns / 1e3


LEAST_MEMORY_BYTES = 4 << 20
"""Memory that a process needs to start at all."""


def memory_bytes(option: str, text: str) -> int | None:
    """A size such as ``200MB`` in bytes, None for an empty text; ArgumentError where it isn't one, or is too small for a process."""
    from slotmark import _core

    if not text:
        return None
    found = _core.quantity(text)
    if found is None or found[2] != "a size":
        raise ArgumentError(f"{option} '{text}': expected a number and a unit of size, as in 200MB or 2GiB.")
    number, _, _, worth_bytes = found
    size = number * worth_bytes
    if not LEAST_MEMORY_BYTES <= size < 2**62:
        raise ArgumentError(f"{option} '{text}': expected {LEAST_MEMORY_BYTES:,} bytes at least, and less than 4 EiB.")
    return int(size)


def fraction(option: str, text: str) -> float:
    """A share such as ``2%`` or ``0.02`` as a fraction between 0 and 1; ArgumentError where it isn't one."""
    value = share(text)
    if value is None:
        raise ArgumentError(f"{option} '{text}': expected a share between 0 % and 100 %, as in 2% or 0.02.")
    return value


def share_of_metric(option: str, text: str, example: str) -> tuple[str, float]:
    """The metric's id and the fraction of ``METRIC=SHARE``; ArgumentError where it isn't one, with an example of one."""
    metric, equals, part = text.partition("=")
    if not equals:
        raise ArgumentError(f"{option} '{text}': expected METRIC=SHARE, as in {example}.")
    return metric, fraction(option, part)
