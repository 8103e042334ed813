"""Records that a store keeps of a run beside its folder: how it was named when it was added, and its estimates."""

import datetime
from typing import Annotated, TypeVar

import msgspec

from slotmark.cleaning import MOST_OF_A_NAME, one_name
from slotmark.errors import ArgumentError, StoreError
from slotmark.history.estimates import Estimate
from slotmark.history.series import Group

SCHEMA = 1

AHEAD_NS = 86_400 * 10**9
"""A run whose clock is so much ahead of the one that adds it is ordered by the latter."""

_Whole = Annotated[int, msgspec.Meta(ge=0, le=1 << 62)]


class Labels(msgspec.Struct, frozen=True, kw_only=True):
    """Names that are given to a run when it is added to a store; empty for none.

    Attributes:
        ref: The commit or tag that it was built from.
        version: Its version, as the history shows it.
        branch: The branch that the commit is on.
        target: The software, in the place of what the run records.
        machine: The kind of machine, likewise.
    """

    ref: str = ""
    version: str = ""
    branch: str = ""
    target: str = ""
    machine: str = ""

    def __post_init__(self) -> None:
        """Refuses what is no name. ArgumentError."""
        for name in self.__struct_fields__:
            text = getattr(self, name)
            if text != text.strip() or one_name(text) != text:
                raise ArgumentError(
                    f"--{name} {one_name(text)!r}: expected one line of {MOST_OF_A_NAME} characters at most, without spaces around it."
                )


class Entry(msgspec.Struct, frozen=True, kw_only=True):
    """A run that is in a store. Its file is written last: without it the run isn't there.

    Attributes:
        schema: Always :data:`SCHEMA`.
        run: Digest of its tables, by which it is known.
        labels: Its names.
        at_ns: When it was measured: its place in the order of a series, in ns since 1970.
        added_ns: When the command that added it began.
        place: Its place among the runs of that command, from 0.
    """

    schema: int = SCHEMA
    run: str
    labels: Labels
    at_ns: _Whole
    added_ns: _Whole
    place: _Whole


class Estimated(msgspec.Struct, frozen=True, kw_only=True):
    """The estimates of a run, and what it is found and explained by.

    Attributes:
        schema: Always :data:`SCHEMA`.
        slotmark: The version that computed them.
        run: As of its entry.
        name: The run's own id.
        group: The runs that its history is with, by what it records.
        version: Its target's version; empty where that isn't recorded.
        build: The name of its target.
        commit: Its target's commit.
        origin: Source of its figures, in a word; empty where it isn't recorded.
        facts: Facts that may explain a change, by name.
        estimates: One a metric and part.
    """

    schema: int = SCHEMA
    slotmark: str
    run: str
    name: str
    group: Group
    version: str
    build: str
    commit: str
    origin: str
    facts: dict[str, str]
    estimates: list[Estimate]


Kept = TypeVar("Kept", Entry, Estimated)


class _OfSchema(msgspec.Struct):
    schema: int


def decoded(file: str, content: bytes, kind: type[Kept]) -> Kept:
    """The entry, or the estimates, in a file of a store. StoreError where it holds none, or a newer slotmark's."""
    try:
        refuse_newer(file, msgspec.json.decode(content, type=_OfSchema).schema)
        return msgspec.json.decode(content, type=kind)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise StoreError(
            f"{file}: damaged ({error}). Remove it, and run `slotmark store recompute` or add the run again."
        ) from error


def refuse_newer(file: str, schema: int) -> None:
    """Raises StoreError where something of a store has a newer layout."""
    if schema > SCHEMA:
        raise StoreError(
            f"{file}: schema {schema}, written by a newer slotmark; this one reads {SCHEMA}. Use that slotmark."
        )


def measured_ns(started: str, added_ns: int) -> int | None:
    """When a run was measured, by its own clock, in ns since 1970; None where that isn't recorded, or lies far ahead of when it was added."""
    try:
        began = datetime.datetime.fromisoformat(started)
    except ValueError:
        return None
    if began.tzinfo is None:
        began = began.replace(tzinfo=datetime.UTC)
    seconds = began.timestamp()
    found = int(seconds * 1000) * 10**6
    return found if 0 <= found <= added_ns + AHEAD_NS else None
