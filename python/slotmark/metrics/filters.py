"""Filters: which blocks and slots of a cluster run are analysed.

Conditions are those of the established tool (locli, ``API/ChainFilter.hs``), by its names; named sets of them are data,
``cluster/filters.toml``. A run's own profile names some or writes them as expressions.
"""

import re
import tomllib
from collections.abc import Iterable, Sequence
from functools import cache
from importlib.resources import files
from typing import Any

import msgspec
import pyarrow as pa

from slotmark.errors import ArgumentError
from slotmark.run import Run

CONDITIONS: dict[str, tuple[str, bool]] = {
    "BUnitaryChainDelta": ("block", False),
    "BFullnessGEq": ("block", True),
    "BFullnessLEq": ("block", True),
    "BSizeGEq": ("block", True),
    "BSizeLEq": ("block", True),
    "BMinimumAdoptions": ("block", True),
    "BNonNegatives": ("block", False),
    "SlotGEq": ("slot", True),
    "SlotLEq": ("slot", True),
    "EpochGEq": ("slot", True),
    "EpochLEq": ("slot", True),
    "EpochSafeIntGEq": ("slot", True),
    "EpochSafeIntLEq": ("slot", True),
    "EpSlotGEq": ("slot", True),
    "EpSlotLEq": ("slot", True),
    "SlotHasLeaders": ("slot", False),
}
"""What each condition is about, and whether it has an argument. Conditions about slots hold for blocks too, by their slot."""


class Filter(msgspec.Struct, frozen=True):
    """One condition.

    Attributes:
        tag: Its name.
        argument: What it compares with; None where it has none.
    """

    tag: str
    argument: float | None = None

    def __str__(self) -> str:
        """As one writes it: ``EpochGEq 2``."""
        return self.tag if self.argument is None else f"{self.tag} {self.argument:g}"


@cache
def named_filters() -> dict[str, tuple[Filter, ...]]:
    """The named sets."""
    text = (files("slotmark.metrics") / "cluster" / "filters.toml").read_text(encoding="utf-8")
    return {
        name: tuple(Filter(*condition) for condition in entry["conditions"])
        for name, entry in tomllib.loads(text).items()
    }


def parse_filters(texts: Iterable[str]) -> list[Filter]:
    """Filters from the command line: names of sets and conditions such as ``EpochGEq 2`` or ``EpochGEq:2``; ``none`` for none.

    Raises:
        ArgumentError: There is no such set or condition, or its argument is missing or no number.
    """
    found: list[Filter] = []
    for text in texts:
        name, _, rest = re.sub(r"[:=\s]+", " ", text.strip()).partition(" ")
        if text == "none":
            continue
        if name in named_filters() and not rest:
            found += named_filters()[name]
        elif name in CONDITIONS:
            found.append(_condition(name, rest or None, f"--filter '{text}'"))
        else:
            raise ArgumentError(
                f"--filter '{text}': no such set or condition. Sets: {', '.join(named_filters())}. Conditions: {', '.join(CONDITIONS)}."
            )
    return list(dict.fromkeys(found))


def filters_of_run(run: Run) -> list[Filter]:
    """What the run's own profile asks for: names of sets, or expressions as ``{"tag": "CBlock", "contents": {"tag": …, "contents": …}}``.

    Raises:
        ArgumentError: The profile asks for a filter that there isn't.
    """
    found: list[Filter] = []
    for entry in run.manifest.parameters.get("filters", []):
        if isinstance(entry, str) and entry in named_filters():
            found += named_filters()[entry]
        elif isinstance(entry, dict):
            inner: Any = entry.get("contents") if entry.get("tag") in ("CBlock", "CSlot") else entry
            inner = inner if isinstance(inner, dict) else {}
            found.append(
                _condition(str(inner.get("tag")), inner.get("contents"), f"{run.path}: a filter of the run's profile")
            )
        else:
            raise ArgumentError(
                f"{run.path}: its profile asks for the filter '{entry}', which there isn't. Say which with --filter."
            )
    return list(dict.fromkeys(found))


def filter_table(filters: Sequence[Filter]) -> pa.Table:
    """The filters for SQL, after the one that is always there: a block must have been forged by a host whose log is complete."""
    rows = [("complete", "complete in its forger's log", None), *((one.tag, str(one), one.argument) for one in filters)]
    return pa.table(
        {
            "place": pa.array(range(len(rows)), pa.int64()),
            "tag": [tag for tag, _, _ in rows],
            "name": [name for _, name, _ in rows],
            "argument": pa.array([argument for _, _, argument in rows], pa.float64()),
            "about": [CONDITIONS.get(tag, ("block", False))[0] for tag, _, _ in rows],
        }
    )


def _condition(tag: str, argument: object, where: str) -> Filter:
    if tag not in CONDITIONS:
        raise ArgumentError(
            f"{where} has the condition '{tag}', which there isn't. There are: {', '.join(CONDITIONS)}."
        )
    if not CONDITIONS[tag][1]:
        return Filter(tag)
    try:
        return Filter(tag, float(str(argument)))
    except ValueError:
        raise ArgumentError(f"{where}: {tag} needs a number, as '{tag} 2'.") from None
