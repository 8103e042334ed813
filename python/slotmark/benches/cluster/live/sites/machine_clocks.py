"""Differences between the clocks of a cluster's machines, by round trips between them: at the beginning, once a minute, and at the end.

One machine answers with its time, and each other one asks it: UDP packets that no other work waits for. The fastest round trips count.
"""

import socket
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from threading import Event, Thread

import msgspec
import pyarrow as pa

from slotmark.engine.hosts import nearest
from slotmark.metrics.catalogue import catalogue
from slotmark.warnings import Warning

SCHEMA = pa.schema(
    [
        ("machine", pa.string()),
        ("ts_ns", pa.int64()),
        ("ahead_ns", pa.int64()),
        ("doubt_ns", pa.int64()),
        ("trips", pa.int64()),
    ]
)
"""Table ``machine_clocks``: docs/tables.md."""

EVERY_S = 60.0

_TRIPS = 50
"""Round trips of a look, and the time that they may take in all."""

_LOOK_S = 10.0
_ANSWER_S = 1.0
_TEXT_BYTES = 8


class Offset(msgspec.Struct, frozen=True):
    """A clock beside the one that answers.

    Attributes:
        ts_ns: When it was looked at, by this machine's clock.
        ahead_ns: How far this machine's clock is ahead of the other's.
        doubt_ns: The most that this can be wrong by: half of the fastest round trip.
        trips: Number of round trips.
    """

    ts_ns: int
    ahead_ns: int
    doubt_ns: int
    trips: int


class Answering:
    """Answers with this machine's time until it is closed.

    Args:
        address: Where it listens.
        now: The time, in ns since 1970.
    """

    def __init__(self, address: str, now: Callable[[], int] = time.time_ns) -> None:
        self._socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self._socket.bind((address, 0))
        self._now = now
        self.port: int = self._socket.getsockname()[1]
        Thread(target=self._answer, daemon=True).start()

    def _answer(self) -> None:
        with suppress(OSError):
            while True:
                asked, place = self._socket.recvfrom(_TEXT_BYTES)
                if len(asked) != _TEXT_BYTES:  # the end, or a stranger's
                    continue
                self._socket.sendto(asked + self._now().to_bytes(8), place)

    def close(self) -> None:
        """Ends it."""
        self._socket.close()


def look(address: str, port: int, trips: int = _TRIPS) -> Offset | None:
    """Compares this machine's clock with that of one that answers; None where it doesn't."""
    exchanges: list[tuple[int, int, int]] = []
    until = time.monotonic() + _LOOK_S
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as asking, suppress(OSError):
        asking.connect((address, port))
        asking.settimeout(_ANSWER_S)
        for number in range(trips):
            if time.monotonic() > until or (number >= 3 and not exchanges):
                break
            with suppress(TimeoutError):
                asked = number.to_bytes(_TEXT_BYTES)
                before = time.time_ns()
                asking.send(asked)
                while not (answer := asking.recv(64)).startswith(asked) or len(answer) != 2 * _TEXT_BYTES:
                    pass  # of an earlier question
                exchanges.append((before, int.from_bytes(answer[_TEXT_BYTES:]), time.time_ns()))
    if not exchanges:
        return None
    clock = nearest(exchanges)
    return Offset(time.time_ns(), -1_000 * clock.ahead_us, 1_000 * clock.doubt_us, len(exchanges))


class Looking:
    """Compares this machine's clock with another's, once at the beginning and then once a minute, until it is ended.

    Args:
        address: Of the machine that answers.
        port: Its port.
    """

    def __init__(self, address: str, port: int) -> None:
        self._place = address, port
        self._found: list[Offset] = []
        self._ending = Event()
        self._thread = Thread(target=self._look, daemon=True)
        self._thread.start()

    def _look(self) -> None:
        while True:
            if (found := look(*self._place)) is not None:
                self._found.append(found)
            if self._ending.wait(EVERY_S):
                return

    def ended(self) -> list[Offset]:
        """Returns all that was found, with a last look."""
        if not self._ending.is_set():
            self._ending.set()
            self._thread.join()
            if (found := look(*self._place)) is not None:
                self._found.append(found)
        return self._found


class Bounds(msgspec.Struct, frozen=True):
    """The least and the most that a clock was ahead of the one that answered, at any look, in ns."""

    low_ns: int
    high_ns: int


def bounds(found: Sequence[Offset]) -> Bounds | None:
    """Bounds of a clock; None where it was never compared."""
    if not found:
        return None
    return Bounds(min(one.ahead_ns - one.doubt_ns for one in found), max(one.ahead_ns + one.doubt_ns for one in found))


def clock_warnings(found: Mapping[str, Sequence[Offset]], reference: str) -> list[Warning]:
    """Warnings about clocks of machines that were not compared; how far others are apart matters by metric, and is warned of where these are shown.

    Args:
        found: What was found of each machine but the reference.
        reference: The machine that answered.
    """
    unknown = [name for name, offsets in found.items() if not offsets]
    if not unknown:
        return []
    return [catalogue("cluster").warning("machine_clocks_unknown", machines=unknown, reference=reference)]


def clocks_table(found: Mapping[str, Sequence[Offset]]) -> pa.Table:
    """A row per machine and look, of :data:`SCHEMA`."""
    rows = [{"machine": name, **msgspec.structs.asdict(one)} for name, offsets in found.items() for one in offsets]
    return pa.Table.from_pylist(rows, SCHEMA)
