"""Figures that a file of another tool has of one commit, with their units, and which direction of each is better."""

import sys
from collections.abc import Sequence
from typing import Literal, NoReturn

import msgspec

from slotmark.cleaning import one_name
from slotmark.errors import ImportFileError

Better = Literal["lower", "higher"]

MOST_FIGURES = 10_000
"""Figures of one record at most."""

MOST_SAMPLES = 100_000
"""Samples of one figure at most."""

_DURATIONS = {
    "ns": 1e-9,
    "us": 1e-6,
    "µs": 1e-6,
    "μs": 1e-6,
    "ms": 1e-3,
    "s": 1.0,
    "sec": 1.0,
    "seconds": 1.0,
    "nanoseconds": 1e-9,
}
_RATES = {"/s": 1.0, "1/s": 1.0, "ops/s": 1.0, "operations/second": 1.0, "Hz": 1.0}
_SIZES = {"B": 1.0, "bytes": 1.0, "kB": 1e3, "KiB": 1024.0, "MB": 1e6, "MiB": 1024.0**2, "GB": 1e9, "GiB": 1024.0**3}


class Asked(msgspec.Struct, frozen=True):
    """The words of a person where a file has none.

    Attributes:
        unit: The unit of figures without one; empty where nobody said it.
        better: Which direction of these is better; empty likewise.
    """

    unit: str = ""
    better: Better | Literal[""] = ""


class Figure(msgspec.Struct, frozen=True):
    """A figure of one commit.

    Attributes:
        metric: Its metric in the catalogue of bench `foreign`.
        part: Its name, with its unit where the metric has none.
        samples: Its values, in the metric's unit; one where the file has one.
    """

    metric: str
    part: str
    samples: list[float]


class Record(msgspec.Struct, frozen=True, kw_only=True):
    """The figures of one commit.

    Attributes:
        ref: The commit; empty where the file has none.
        branch: Its branch, likewise.
        at: When it was measured, ISO 8601; empty likewise.
        machine: The kind of machine, in words; empty likewise.
        figures: Each once.
        left_out: How many figures have no number.
    """

    ref: str = ""
    branch: str = ""
    at: str = ""
    machine: str = ""
    figures: list[Figure]
    left_out: int = 0


class Gathering:
    """Figures of one record as they are read.

    Args:
        file: The file, for errors.
        asked: What a person says where the file doesn't.
    """

    def __init__(self, file: str, asked: Asked) -> None:
        self._file, self._asked = file, asked
        self._found: dict[tuple[str, str], Figure] = {}
        self.left_out = 0

    @property
    def figures(self) -> list[Figure]:
        """All so far."""
        return [*self._found.values()]

    def add(self, name: str, samples: Sequence[object], unit: str = "", better: Better | Literal[""] = "") -> None:
        """Takes a figure in.

        Args:
            name: What it is called.
            samples: Its values; those that are no finite number are left out.
            unit: Its unit; empty where the file has none.
            better: Which direction is better; empty where the file doesn't say it.

        Raises:
            ImportFileError: Its unit or direction isn't known, or there are too many.
        """
        values = [
            float(one)
            for one in samples
            if isinstance(one, int | float) and not isinstance(one, bool) and abs(one) <= sys.float_info.max
        ]
        if not values:
            self.left_out += 1
            return
        shown = one_name(name) or "figure"
        unit = unit or self._asked.unit
        if not unit:
            self._refuse(f"'{shown}' has no unit", "Give it with --unit, as --unit ms; --unit 1 for none.")
        metric, factor = _metric_of(unit)
        if metric == "":
            better = better or self._asked.better
            if not better:
                self._refuse(
                    f"'{shown}', in {one_name(unit)}, may be better lower or higher",
                    "Say which with --better lower or --better higher.",
                )
            metric = better
            shown = shown if unit == "1" else one_name(f"{shown}, {unit}")
        elif (better or self._asked.better or _BETTER[metric]) != _BETTER[metric]:
            metric = better or self._asked.better
            shown = one_name(f"{shown}, {unit}")
            factor = 1.0
        if (metric, shown) in self._found:
            self._refuse(f"'{shown}' is there twice", "Give each figure a name of its own.")
        if len(self._found) >= MOST_FIGURES or len(values) > MOST_SAMPLES:
            self._refuse(
                f"more than {MOST_FIGURES:,} figures of one commit, or {MOST_SAMPLES:,} samples of one figure",
                "Import fewer.",
            )
        self._found[metric, shown] = Figure(f"imported_{metric}", shown, [factor * one for one in values])

    def _refuse(self, what: str, remedy: str) -> NoReturn:
        raise ImportFileError(f"{self._file}: {what}. {remedy}")


_BETTER: dict[str, Better] = {"duration": "lower", "rate": "higher", "size": "lower"}


def _metric_of(unit: str) -> tuple[str, float]:
    """The metric that a unit stands for, and what it takes to be in that metric's; empty where it stands for none."""
    for metric, units in (("duration", _DURATIONS), ("rate", _RATES), ("size", _SIZES)):
        if unit in units:
            return metric, units[unit]
    return "", 1.0
