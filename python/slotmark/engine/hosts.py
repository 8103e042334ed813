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

FOLDER = "/var/tmp/slotmark"
"""The folder in which run directories are made on a machine that the file names no folder for."""

Port = Annotated[int, msgspec.Meta(ge=1, le=65_535)]
Cpus = Annotated[float, msgspec.Meta(ge=0, le=10_000)]


class Wanted(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """An entry of the file: which machine a host is, what that must have, and what a live cluster runs there.

    Attributes:
        labels: Of the one node that it is. Several hosts may be on one.
        address: Where others reach it; empty for the node's own address.
        folder: The folder on it in which run directories are made; empty for :data:`FOLDER`.
        programs: Names or paths of programs that it must have.
        ports: TCP ports that must be free.
        node: The node that a live cluster runs there; empty for the one of ``--node``.
        arguments: More words of its command line.
        backend: One of the backends of its recipe; empty for the node's own choice.
        memory: The most memory that it may have, its page cache included, as ``4GiB``; empty for no limit.
        cpus: The most processors that it may use, in time on all of them; 0 for no limit.
        processors: The numbers of those that it may run on; empty for all.
    """

    labels: dict[str, str] = {}
    address: str = ""
    folder: str = ""
    programs: list[str] = []
    ports: list[Port] = []
    node: str = ""
    arguments: list[str] = []
    backend: str = ""
    memory: str = ""
    cpus: Cpus = 0.0
    processors: list[int] = []

    def over(self, every: "Wanted") -> "Wanted":
        """This entry over that of all hosts: what it has stands."""
        return Wanted(**{name: getattr(self, name) or getattr(every, name) for name in self.__struct_fields__})


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


def entries(file: Path) -> dict[str, Wanted]:
    """Reads the entries of a file as they stand there, that of :data:`ALL` among them.

    Raises:
        EngineError: The file can't be read, or isn't such a file.
    """
    found: dict[str, Wanted] = {}
    where = ""
    try:
        for name, entry in read_toml(file).items():
            where = f"{name}: "
            found[name] = msgspec.convert(entry, Wanted)
    except (OSError, ValueError, msgspec.ValidationError) as error:
        why = error.strerror if isinstance(error, OSError) and error.strerror else error
        raise EngineError(f"{file}: {where}{why}. Correct the file; docs/live.md describes its fields.") from error
    return found


def wanted(file: Path) -> dict[str, Wanted]:
    """Reads what each host must have: its own entry's words, and in each field that it leaves out those of the entry ``all``.

    Raises:
        EngineError: The file can't be read, or isn't such a file.
    """
    found = entries(file)
    every = found.pop(ALL, Wanted())
    if not 1 <= len(found) <= MOST_HOSTS:
        raise EngineError(
            f"{file}: {counted(len(found), 'host')}; expected 1 to {MOST_HOSTS:,}, an entry each, as [node-1]."
        )
    return {name: own.over(every) for name, own in found.items()}


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
