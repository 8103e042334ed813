"""Filters: what of a run is analysed. A bench's conditions, and named sets of them, are data: ``filters.toml`` in its folder."""

import math
import re
import tomllib
from collections.abc import Iterable, Sequence
from functools import cache

import msgspec

from slotmark.errors import ArgumentError, did_you_mean
from slotmark.metrics.catalogue import catalogue
from slotmark.numbers import plain
from slotmark.run import Run

FILTER_COLUMNS = {"place": "BIGINT", "tag": "VARCHAR", "name": "VARCHAR", "argument": "DOUBLE", "about": "VARCHAR"}
"""The columns of the table ``filters`` that SQL reads, with their types."""


MEASURED = "measured"
"""By which name a manifest's ``observed`` has the conditions on what lies in the measurement."""


class Condition(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The column and the comparison that a filter uses.

    Attributes:
        about: What it holds for, as ``block`` or ``slot``: SQL selects filters by it.
        argument: Whether it compares with a number.
    """

    about: str
    argument: bool = False


class Filter(msgspec.Struct, frozen=True, array_like=True):
    """One condition.

    Attributes:
        tag: Its name.
        argument: What it compares with; None where it has none.
    """

    tag: str
    argument: float | None = None

    def __str__(self) -> str:
        """As one writes it: ``EpochGEq 2``."""
        return self.tag if self.argument is None else f"{self.tag} {plain(self.argument)}"


class Always(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A condition that applies whatever the filters are.

    Attributes:
        tag: What SQL calls it.
        name: In words.
        about: As that of a condition.
    """

    tag: str
    name: str
    about: str


class FilterSets(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A bench's ``filters.toml``.

    Attributes:
        always: What comes before all filters.
        conditions: By name.
        sets: Named lists of conditions, each a name and, where it has one, an argument.
    """

    always: list[Always]
    conditions: dict[str, Condition]
    sets: dict[str, list[list[str | float]]]


@cache
def filter_sets(bench: str) -> FilterSets:
    """A bench's conditions and named sets; none where it has no filters. RunError where there is no such bench."""
    if not catalogue(bench).filterable:
        return FilterSets([], {}, {})
    text = (catalogue(bench).folder / "filters.toml").read_text(encoding="utf-8")
    return msgspec.convert(tomllib.loads(text), FilterSets)


def parse_filters(texts: Iterable[str], bench: str) -> list[Filter]:
    """Filters as one writes them: names of sets and conditions such as ``EpochGEq 2`` or ``EpochGEq:2``; ``none`` for none.

    Raises:
        ArgumentError: There is no such set or condition, its argument is missing or no number, or the bench has no filters.
    """
    known = filter_sets(bench)
    found: list[Filter] = []
    texts = list(texts)
    if "none" in texts and len(texts) > 1:
        raise ArgumentError("--filter none: there are others beside it. Leave out either.")
    for text in texts:
        if not known.conditions:
            raise ArgumentError(f"--filter: {bench} runs have nothing to filter. Leave it out.")
        name, _, rest = re.sub(r"[:=\s]+", " ", text.strip()).partition(" ")
        if text == "none":
            continue
        if name in known.sets and not rest:
            found += [msgspec.convert(one, Filter) for one in known.sets[name]]
        elif name in known.conditions:
            found.append(_filter(name, known.conditions[name], rest, text))
        else:
            raise ArgumentError(
                f"--filter '{text}': no such set or condition.{did_you_mean(name, [*known.sets, *known.conditions])} Sets: {', '.join(known.sets)}. Conditions: {', '.join(known.conditions)}."
            )
    return list(dict.fromkeys(found))


def filters_of_run(run: Run) -> list[Filter]:
    """Returns the filters of the run's own profile, and the range that was measured where it is known.

    Raises:
        ArgumentError: It asks for a filter that there isn't.
    """
    found = []
    for asked in (run.manifest.parameters.get("filters", []), run.manifest.observed.get(MEASURED, [])):
        if not isinstance(asked, list) or not all(isinstance(one, str) for one in asked):
            raise ArgumentError(
                f"{run.place / 'run.json'}: its filters are no list of names. Choose some with --filter."
            )
        found += parse_filters(asked, run.manifest.bench)
    return found


def filter_rows(filters: Sequence[Filter], bench: str) -> list[tuple[int, str, str, float | None, str]]:
    """The filters for SQL, with :data:`FILTER_COLUMNS`, after those that are always there."""
    known = filter_sets(bench)
    rows: list[tuple[str, str, float | None, str]] = [(one.tag, one.name, None, one.about) for one in known.always]
    rows += [(one.tag, str(one), one.argument, known.conditions[one.tag].about) for one in filters]
    return [(place, tag, name, argument, about) for place, (tag, name, argument, about) in enumerate(rows)]


def _filter(tag: str, condition: Condition, argument: str, text: str) -> Filter:
    if not condition.argument:
        return Filter(tag)
    try:
        number = float(argument)
    except ValueError:
        number = math.nan
    if not math.isfinite(number):
        raise ArgumentError(f"--filter '{text}': {tag} needs a number, as '{tag} 2'.")
    return Filter(tag, number)
