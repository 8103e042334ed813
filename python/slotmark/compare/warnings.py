"""Warnings about the sides of a comparison: what should be equal and isn't, and what only one of them has."""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from slotmark import warnings
from slotmark.compare.result import Side
from slotmark.compare.results.rows import ALL, Row, limits
from slotmark.metrics import Catalogue, catalogue
from slotmark.numbers import change_with_span, percent
from slotmark.run import MachineFacts, Manifest
from slotmark.warnings import Warning
from slotmark.words import shown_fact

if TYPE_CHECKING:
    from slotmark.compare.estimators.interface import Entry

_MACHINE = {
    "hostname_hash": "the machine",
    "cpu": "the processor",
    "cores": "the number of cores",
    "governor": "the frequency governor",
    "memory_bytes": "main memory in bytes",
    "kernel": "the kernel",
    "system": "the system",
    "virtualisation": "virtualisation",
}
"""Facts that should be equal; the load is warned of in each run, not between two."""

_BUILD = {"version": "the version", "commit": "the commit", "toolchain": "the toolchain"}
"""Facts of a target that are equal between runs of one build; those that aren't recorded differ from none."""


def between(first: Side, other: Side, called: str) -> list[Warning]:
    """Returns warnings on unequal conditions of two sides: those that the runs of one have and those of the other don't.

    Args:
        first: The side that others are held against.
        other: The side that is warned about.
        called: The words for the first side.
    """
    ours, theirs = (_of_all(side.manifests) for side in (first, other))
    return [
        warnings.different(
            what[:1].upper() + what[1:],
            *(" and ".join(map(shown_fact, side[what])) for side in (ours, theirs)),
            called=called,
        )
        for what, values in ours.items()
        if what in theirs and not (_all_in(values, theirs[what]) and _all_in(theirs[what], values))
    ]


def _all_in(some: Sequence[Any], others: Sequence[Any]) -> bool:
    return all(one in others for one in some)


def _of_all(runs: Sequence[Manifest]) -> dict[str, list[Any]]:
    """The conditions that should be equal, in words, each with its values in some runs."""
    found: dict[str, list[Any]] = {}
    for run in runs:
        for what, value in _conditions(run).items():
            known = found.setdefault(what, [])
            if value not in known:
                known.append(value)
    return found


def within(side: Side) -> list[Warning]:
    """Returns warnings on runs of one side that are of several builds, and on unequal conditions of them."""
    targets = [run.target for run in side.manifests]
    builds = {words: [value for one in targets if (value := getattr(one, field))] for field, words in _BUILD.items()}
    differing: dict[str, list[str]] = {}
    for other in side.others:
        for what, mine, its in _pairs(side.manifest, other):
            if mine != its:
                differing.setdefault(what, [shown_fact(mine)]).append(shown_fact(its))
    return [
        *(
            warnings.builds_differ(what, found)
            for what, of in builds.items()
            if len(found := list(dict.fromkeys(of))) > 1
        ),
        *(warnings.runs_differ(what, list(dict.fromkeys(values))) for what, values in differing.items()),
    ]


def unmatched(sides: Sequence[Side], entries: Sequence["Entry"]) -> list[list[Warning]]:
    """A warning for each part that only one of two sides has, and for each metric in a part that both have; one list per side."""
    had = [{entry.part for entry in entries if entry.summaries[place]} for place in range(len(sides))]
    found: list[list[Warning]] = [[] for _ in sides]
    for place in range(1, len(sides)):
        names = sides[0].name, sides[place].name
        only = [(f"the setting '{part}'", part in had[0]) for part in sorted(had[0] ^ had[place])]
        for entry in entries:
            both = entry.part in had[0] & had[place]
            if both and bool(entry.summaries[0]) != bool(entry.summaries[place]):
                where = "" if entry.part == ALL else f" in '{entry.part}'"
                only.append((f"'{entry.metric.name}'{where}", bool(entry.summaries[0])))
        found[place] = [warnings.unmatched(what, *(names if first else names[::-1])) for what, first in only]
    return found


def unlike(entries: Catalogue, rows: Sequence[Row], place: int) -> list[Warning]:
    """Warnings about one candidate on metrics in which sides that did the same work are alike: where the whole interval of a difference is beyond what they may differ by."""
    found: list[Warning] = []
    for row in rows:
        limit, difference = entries.alike.get(row.metric.id), row.differences[place]
        ratio = difference and difference.ratio
        if limit is None or ratio is None or row.part != ALL:
            continue
        floor, ceiling = limits(limit, absolute=False)
        if ratio.low > ceiling or ratio.high < floor:
            found += entries.warnings_on(
                "unlike", metric=row.metric.name, difference=change_with_span(ratio), limit=percent(limit)
            )
    return found


def _pairs(ours: Manifest, theirs: Manifest) -> Iterator[tuple[str, Any, Any]]:
    """Yields the conditions that should be equal between two runs, in words, with their values in each; those that both record."""
    others = _conditions(theirs)
    for what, mine in _conditions(ours).items():
        if what in others:
            yield what, mine, others[what]


def _conditions(run: Manifest) -> dict[str, Any]:
    """The conditions of a run that should be equal in others, in words."""
    conditions = catalogue(run.bench).conditions
    return {
        **({"the origin of the figures": run.origin} if run.origin else {}),
        **({what: mine for what, mine, _ in machines(run.machine, run.machine)} if run.machine is not None else {}),
        **{f"parameter '{name}'": value for name, value in conditions(run.parameters).items()},
        **{f"the version of {name}": value for name, value in conditions(run.versions).items()},
    }


def machines(ours: MachineFacts, theirs: MachineFacts) -> Iterator[tuple[str, Any, Any]]:
    """Yields the facts that should be equal between two machines, in words, with their values on each."""
    for fact, words in _MACHINE.items():
        yield words, getattr(ours, fact), getattr(theirs, fact)
