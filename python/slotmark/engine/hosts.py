"""Hosts that a user names in a file, each a node of a cluster of machines: what it must have, and what was found there."""

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Annotated

import msgspec

from slotmark.errors import EngineError
from slotmark.texts import read_toml
from slotmark.words import counted

ALL = "all"
"""The entry of the file that stands for all hosts."""

MOST_HOSTS = 10_000

Port = Annotated[int, msgspec.Meta(ge=1, le=65_535)]


class Wanted(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The needs of a host.

    Attributes:
        labels: Of the one node that it is.
        programs: Names or paths of programs that it must have.
        ports: TCP ports that must be free.
    """

    labels: dict[str, str] = {}
    programs: list[str] = []
    ports: list[Port] = []


class Clock(msgspec.Struct, frozen=True):
    """A clock beside the one of this machine.

    Attributes:
        ahead_us: How far it is ahead of this machine's.
        doubt_us: The most that this can be wrong by: half of the fastest round trip.
    """

    ahead_us: int
    doubt_us: int


class Host(msgspec.Struct, frozen=True, kw_only=True):
    """A host as it was found.

    Attributes:
        name: As the file has it.
        node: The node; empty where none has its labels.
        clock: Its clock; None where it didn't answer.
        wrong: What is missing or differs, a text each; empty where all is well.
    """

    name: str
    node: str = ""
    clock: Clock | None = None
    wrong: list[str] = []


def wanted(file: Path) -> dict[str, Wanted]:
    """Reads what each host must have: its own entry's words, and in each field that it leaves out those of the entry ``all``.

    Raises:
        EngineError: The file can't be read, or isn't such a file.
    """
    try:
        entries = msgspec.convert(read_toml(file), dict[str, Wanted])
    except (OSError, ValueError, msgspec.ValidationError) as error:
        why = error.strerror if isinstance(error, OSError) else error
        raise EngineError(f"{file}: {why}. Mend the file; docs/scale.md describes its fields.") from error
    every = entries.pop(ALL, Wanted())
    if not 1 <= len(entries) <= MOST_HOSTS:
        raise EngineError(
            f"{file}: {counted(len(entries), 'host')}; expected 1 to {MOST_HOSTS:,}, an entry each, as [node-1]."
        )
    return {
        name: Wanted(**{field: getattr(own, field) or getattr(every, field) for field in Wanted.__struct_fields__})
        for name, own in entries.items()
    }


def nearest(exchanges: Iterable[tuple[int, int, int]]) -> Clock:
    """The offset of a clock by round trips: from the fastest one, in whose middle the other clock was read.

    Args:
        exchanges: For each, this clock before, the other clock, and this clock after, in ns.
    """
    before, there, after = min(exchanges, key=lambda one: one[2] - one[0])
    return Clock(ahead_us=(2 * there - before - after) // 2_000, doubt_us=-(-(after - before) // 2_000))


def matching(labels: Mapping[str, str], nodes: Sequence[Mapping[str, str]]) -> list[int]:
    """The places of the nodes that have some labels."""
    return [place for place, own in enumerate(nodes) if labels.items() <= own.items()]
