"""What nodes did so far, from the ends of their logs: tips and blocks."""

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path

import msgspec

_AT_ONCE = 16 << 20
"""The most bytes of a log that are read at one look; the rest is read at the next."""


class Tip(msgspec.Struct, frozen=True):
    """The end of a node's chain."""

    hash: str
    slot: int


class Agreement(msgspec.Struct, frozen=True):
    """How far hosts agree.

    Attributes:
        hosts: How many have the most frequent tip.
        of: How many there are.
        tip: That tip; None where no host has a block.
    """

    hosts: int
    of: int
    tip: Tip | None

    @property
    def complete(self) -> bool:
        """Whether all hosts have the same block at their tips."""
        return self.tip is not None and self.hosts == self.of


class LogEnd:
    """The end of a growing log.

    Attributes:
        tip: The last tip in it; None where there is none yet.
        ready: Whether a line had the text by which a node is ready.
    """

    def __init__(self, path: Path, tip: str, ready_text: str) -> None:
        self._path = path
        self._pattern = re.compile(tip.encode(), re.MULTILINE)
        self._ready_text = ready_text.encode()
        self._read = 0
        self._rest = b""
        self.tip: Tip | None = None
        self.ready = False

    def look(self) -> list[Tip]:
        """Reads on to the end, and gives the tips in what is new."""
        with self._path.open("rb") as file:
            file.seek(self._read)
            new = file.read(_AT_ONCE)
        self._read += len(new)
        lines, end, rest = (self._rest + new).rpartition(b"\n")
        self._rest = rest[-_AT_ONCE:]
        self.ready = self.ready or bool(self._ready_text and end and self._ready_text in lines)
        tips = [
            Tip(found["hash"].decode("ascii", "replace"), int(found["slot"])) for found in self._pattern.finditer(lines)
        ]
        if tips:
            self.tip = tips[-1]
        return tips


class Watch:
    """The ends of all logs of a cluster."""

    def __init__(self, logs: Mapping[str, LogEnd]) -> None:
        self.logs = logs
        self._blocks: set[str] = set()

    def look(self) -> None:
        """Reads all logs on to their ends."""
        for log in self.logs.values():
            self._blocks.update(tip.hash for tip in log.look())

    @property
    def blocks(self) -> int:
        """Different blocks that were some host's tip."""
        return len(self._blocks)

    def agreement(self, hosts: Sequence[str]) -> Agreement:
        """How far these hosts agree."""
        tips = Counter(self.logs[host].tip for host in hosts)
        del tips[None]
        if not tips:
            return Agreement(0, len(hosts), None)
        tip, count = max(tips.items(), key=lambda one: (one[1], one[0].slot if one[0] else 0))
        return Agreement(count, len(hosts), tip)
