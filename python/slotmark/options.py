"""Options of commands: what one is, stated at the field of the request that it sets; and texts that stand for quantities.

A request is a struct. A field with an :class:`Option` in its annotation is an option of every command that takes the request; its type and
default are the option's. :mod:`slotmark.cli.requests` makes the command.
"""

from collections.abc import Callable
from enum import Enum
from typing import Annotated, Any

import msgspec

from slotmark import _core
from slotmark.errors import ArgumentError
from slotmark.numbers import mebibytes, share


class Option(msgspec.Struct, frozen=True):
    """An option of the command line, as the annotation of a field.

    Attributes:
        help: What ``--help`` prints of it.
        metavar: What stands for its value there; by its type where there is none.
        flags: What is typed; the field's name by default, as ``--field-name``.
        least: The least number that it takes. A default below that means that none was given, and isn't printed.
        most: The largest number that it takes.
        parse: Gives the field's value of the flag, for messages, and what was typed. Raises ArgumentError.
        typed: The type of what was typed, where that is parsed.
        default: What is parsed where nothing was typed; without one the field's own default holds.
        shown: Writes the field's own default as it would be typed, for ``--help``, where what is typed is parsed.
        written: Writes a value as it would be typed.
        argument: Whether it stands on the command line without a flag.
        after: The field or parameter behind which it is listed; the one before it in the request by default.
    """

    help: str
    metavar: str | None = None
    flags: tuple[str, ...] = ()
    least: int | None = None
    most: int | None = None
    parse: Callable[[str, Any], Any] | None = None
    typed: Any = str
    default: str | None = None
    shown: Callable[[Any], str] | None = None
    written: Callable[[Any], str] = str
    argument: bool = False
    after: str = ""

    def flag(self, field: str) -> str:
        """The flag of the field in messages and commands."""
        return self.flags[-1] if self.flags else f"--{field.replace('_', '-')}"


def option_of(kind: Any) -> Option | None:
    """The option that an annotation has; None for none."""
    return next((one for one in getattr(kind, "__metadata__", ()) if isinstance(one, Option)), None)


def words_of(request: msgspec.Struct) -> list[str]:
    """The words of a command line that make a request: its arguments, then its options that aren't by default."""
    arguments, options = [], []
    for field in msgspec.structs.fields(request):
        option, value = option_of(field.type), getattr(request, field.name)
        if option is None or value == field.default:
            continue
        if value is True:
            options.append(option.flag(field.name))
            continue
        for one in value if isinstance(value, list | tuple) else [value]:
            word = one.value if isinstance(one, Enum) else option.written(one)
            if option.argument:
                arguments.append(word)
            else:
                options += [option.flag(field.name), word]
    return [*arguments, *options]


MOST_SEED = 2**63 - 1
"""The largest seed: it and those after it fit in 64 bits everywhere."""

MOST_REPEATS = 100_000
"""The most simulations that one command is asked for."""

SeedOption = Annotated[int, Option("Seed of the order within rounds.", least=0, most=MOST_SEED)]
ResumeOption = Annotated[bool, Option("Continue the interrupted session in -o; its finished rounds are kept.")]


def duration_us(option: str, text: str) -> float:
    """A duration such as ``250us`` or ``5min``, for which ``5m`` stands too, in microseconds; ArgumentError where it isn't one."""
    minutes = text[:-1] if text.endswith("m") else ""
    found = _core.quantity(f"{minutes}min" if minutes[-1:].isdigit() else text)
    if found is None or found[2] != "a duration":
        raise ArgumentError(
            f"{option} '{text}': expected a number and a unit of {', '.join(_core.duration_units())}, as in 250us."
        )
    number, _, _, worth_ns = found
    return number * worth_ns / 1e3


def duration_s(option: str, text: str) -> float:
    """The same in seconds."""
    return duration_us(option, text) / 1e6


_TIMES = {"": 1, "k": 10**3, "M": 10**6, "G": 10**9}
"""The letters behind a number, and what they stand for."""

MOST_WHOLE = 10**12
"""The largest whole number that stands for a count."""


def whole_number(option: str, text: str) -> int:
    """A whole number such as ``250k`` or ``10M``, from 1 on; ArgumentError where it isn't one."""
    digits = text.rstrip("kMG")
    number = int(digits) * _TIMES.get(text[len(digits) :], 0) if digits.isascii() and digits.isdecimal() else 0
    if not 1 <= number <= MOST_WHOLE:
        raise ArgumentError(
            f"{option} '{text}': expected a whole number from 1 to 10^12, as 5000, 250k or 10M (k, M and G are powers of 1,000)."
        )
    return number


LEAST_MEMORY_BYTES = 4 << 20
"""Memory that a process needs to start at all."""


MOST_MEMORY_BYTES = 2**62 - 1
"""The kernel's own bounds are below that."""


def memory_bytes(
    option: str, text: str, least_bytes: int = LEAST_MEMORY_BYTES, most_bytes: int = MOST_MEMORY_BYTES
) -> int | None:
    """A size such as ``200MB`` in bytes, None for an empty text.

    Args:
        option: Where the text stands, for messages.
        text: The size.
        least_bytes: The least that it may be.
        most_bytes: The most that it may be.

    Raises:
        ArgumentError: It isn't a size, or out of bounds.
    """
    if not text:
        return None
    found = _core.quantity(text)
    if found is None or found[2] != "a size":
        raise ArgumentError(f"{option} '{text}': expected a number and a unit of size, as in 200MB or 2GiB.")
    number, _, _, worth_bytes = found
    size = number * worth_bytes
    if not least_bytes <= size <= most_bytes:
        most = "less than 4 EiB" if most_bytes == MOST_MEMORY_BYTES else f"no more than {mebibytes(most_bytes)}"
        raise ArgumentError(f"{option} '{text}': expected {mebibytes(least_bytes)} at least, and {most}.")
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
