"""Tips and blocks of nodes so far, from the ends of their logs."""

import re
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Protocol

import msgspec

from slotmark import _core

_AT_ONCE = 16 << 20
"""The most bytes of a log that are read at one look; the rest is read at the next."""


ENOUGH_TIPS = 3
"""The number of blocks that decides between two chains: the shorter one is left, or no other host follows it."""


class Tip(msgspec.Struct, frozen=True):
    """The end of a node's chain."""

    hash: str
    slot: int


class Agreement(msgspec.Struct, frozen=True):
    """The agreement of hosts on a block.

    Attributes:
        hosts: How many have the most frequent tip.
        of: Number of all hosts.
        tip: That tip; None where no host has a block.
    """

    hosts: int
    of: int
    tip: Tip | None

    @property
    def complete(self) -> bool:
        """Returns whether all hosts have the same block at their tips."""
        return self.tip is not None and self.hosts == self.of


class LogEnd:
    """The end of a growing log.

    Attributes:
        path: Where it is.
        tip: The last tip in it; None where there is none yet.
        ready: Whether a line had the text by which a node is ready.
        first_line: Its first line; None where there is none yet.
        understood: Whether a line is in a form that ingest reads.
    """

    def __init__(self, path: Path, tip: str, ready_text: str) -> None:
        self.path = path
        self._pattern = re.compile(tip.encode(), re.MULTILINE)
        self._ready_text = ready_text.encode()
        self._read = 0
        self._rest = b""
        self.tip: Tip | None = None
        self.ready = False
        self.first_line: str | None = None
        self.understood = False

    def look(self) -> list[Tip]:
        """Reads on to the end, and gives the tips in what is new."""
        with self.path.open("rb") as file:
            file.seek(self._read)
            new = file.read(_AT_ONCE)
        self._read += len(new)
        lines, end, rest = (self._rest + new).rpartition(b"\n")
        self._rest = rest[-_AT_ONCE:]
        self.ready = self.ready or bool(self._ready_text and end and self._ready_text in lines)
        if end and not self.understood:
            whole = lines.splitlines()
            self.first_line = self.first_line or next((line.decode("utf-8", "replace") for line in whole if line), None)
            self.understood = any(map(_core.is_log_line, whole))
        tips = [
            Tip(found["hash"].decode("ascii", "replace"), int(found["slot"])) for found in self._pattern.finditer(lines)
        ]
        if tips:
            self.tip = tips[-1]
        return tips


class Log(Protocol):
    """The members of :class:`LogEnd`: of a log of this machine, or of one that is looked at elsewhere."""

    path: Path
    tip: Tip | None
    first_line: str | None
    understood: bool

    def look(self) -> Sequence[Tip]:
        """Gives the tips that are new."""
        ...


class Watch:
    """The ends of all logs of a cluster."""

    def __init__(self, logs: Mapping[str, Log]) -> None:
        self.logs = logs
        self._seen: dict[str, dict[str, float]] = {host: {} for host in logs}

    def look(self) -> None:
        """Reads all logs on to their ends."""
        for host, log in self.logs.items():
            for tip in log.look():
                self._seen[host].setdefault(tip.hash, time.monotonic())

    @property
    def blocks(self) -> int:
        """Different blocks that were some host's tip."""
        return len(set().union(*self._seen.values()))

    def alone(self, hosts: Sequence[str], lag_s: float) -> dict[str, int]:
        """Returns those of these hosts that follow no other host, each with how many blocks of its own it has had as tips.

        Such a host has had no tip that another one has had, though it has had :data:`ENOUGH_TIPS`, or another one has: with that many blocks,
        no two chains stay side by side.

        Args:
            hosts: Which ones; none of one host is alone.
            lag_s: Tips that are younger than this don't count: others may still get them.
        """
        before = time.monotonic() - lag_s
        old = {host: sum(at <= before for at in self._seen[host].values()) for host in hosts}
        sharers = Counter(tip for host in hosts for tip in self._seen[host])
        if len(hosts) < 2 or max(old.values()) < ENOUGH_TIPS:
            return {}
        return {host: len(self._seen[host]) for host in hosts if all(sharers[tip] == 1 for tip in self._seen[host])}

    def agreement(self, hosts: Sequence[str]) -> Agreement:
        """Returns the agreement of these hosts."""
        tips = Counter(self.logs[host].tip for host in hosts)
        del tips[None]
        if not tips:
            return Agreement(0, len(hosts), None)
        tip, count = max(tips.items(), key=lambda one: (one[1], one[0].slot if one[0] else 0))
        return Agreement(count, len(hosts), tip)
