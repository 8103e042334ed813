"""A host of a live run, as the looks at its machine show it."""

import time
from collections.abc import Sequence
from pathlib import Path

from slotmark.benches.cluster.live.sites.part import HostLook
from slotmark.benches.cluster.live.watching import Tip


class Followed:
    """A host and its node.

    Args:
        path: Its log, on its machine.
        first_slot: Tips before it are of the bed's past, which hosts have from the beginning or fetch at once: they aren't counted.

    Attributes:
        path: The log.
        tip: The last tip in its log; None where there is none yet.
        ready: Whether it is.
        first_line: The first line of its log; None where there is none yet.
        understood: Whether a line of its log is in a form that ingest reads.
        ended: How its node ended by itself, in words; empty where it runs.
        at_limit: Its limit of memory, where the kernel ended it for that; else empty.
        started: When its node was started.
        starts: How often it was started.
        short_lives: How often it ended by itself soon after its start, one after the other.
        given_up: Whether it ended by itself and isn't started again.
    """

    def __init__(self, path: Path, first_slot: int) -> None:
        self.path, self._first_slot = path, first_slot
        self.tip: Tip | None = None
        self.ready = False
        self.first_line: str | None = None
        self.understood = False
        self.ended = self.at_limit = ""
        self.started, self.starts = time.monotonic(), 1
        self.short_lives = 0
        self.given_up = False
        self._new: list[Tip] = []

    def note(self, look: HostLook) -> None:
        """Takes what a look found."""
        if tips := [tip for tip in look.tips if tip.slot >= self._first_slot]:
            self._new += tips
            self.tip = tips[-1]
        self.ready, self.first_line, self.understood = look.ready, look.first_line, look.understood
        if look.starts == self.starts:
            self.ended, self.at_limit = look.ended, look.at_limit

    def restarted(self) -> None:
        """Its node was started again."""
        self.ended, self.started, self.starts = "", time.monotonic(), self.starts + 1

    @property
    def how(self) -> str:
        """Who ended its node, which ended."""
        return f"was ended by the kernel at its limit of {self.at_limit}" if self.at_limit else "ended by itself"

    def look(self) -> Sequence[Tip]:
        """Gives the tips that are new."""
        new, self._new = self._new, []
        return new
