"""Delays of a process that continues after a timer on a machine: every step of a node waits as long.

``slotmark-wakes`` prints it, a JSON line a second until it is ended. It is compiled: the same in Python took three times as much of a core, and 40 MiB.
"""

from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Self

import msgspec
import pyarrow as pa
import pyarrow.compute as pc

from slotmark.benches.cluster.live.launching import spawn
from slotmark.measure.shipped import built_program
from slotmark.metrics.catalogue import catalogue
from slotmark.numbers import fixed, plain
from slotmark.warnings import Warning

SCHEMA = pa.schema([("ts_ns", pa.int64()), ("wakes", pa.int64()), ("late_ns", pa.int64()), ("worst_ns", pa.int64())])
"""Table ``timer_delays``: docs/tables.md."""

LIMIT_US = 500
"""The mean delay above which times of nodes are the machine's. A block is passed on over some three hosts, each of which wakes some six times
for it: with this delay that makes about 10 ms, half of the margin of 2 % of a second. A quiet machine has about 100 us (docs/live.md)."""


class Waking:
    """The program, from its start to its end; a context manager. It has the nodes' priority and no processor of its own.

    Args:
        file: What it prints, and behind that what goes wrong with it.

    Raises:
        TargetError: It isn't built.
    """

    def __init__(self, file: Path) -> None:
        with file.open("wb") as out:
            self._process = spawn([str(built_program("slotmark-wakes", "what measures timers"))], None, out, out)

    def __enter__(self) -> Self:
        """Itself."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Ends it."""
        with self._process:
            self._process.kill()


def read_delays(file: Path) -> pa.Table:
    """Returns the delays that it printed, up to where the file was cut, as a table of :data:`SCHEMA`."""
    rows = []
    with suppress(OSError):
        for line in file.read_bytes().splitlines():
            with suppress(msgspec.DecodeError):
                rows.append(msgspec.json.decode(line, type=dict[str, int]))
    return pa.Table.from_pylist(rows, SCHEMA)


class Lateness(msgspec.Struct, frozen=True):
    """Delays of wakes: the mean, and the longest, in us."""

    mean_us: float
    worst_us: float


def lateness(delays: pa.Table, began_ns: int, ended_ns: int) -> Lateness | None:
    """Returns the delays of wakes between two moments; None where none is recorded.

    Args:
        delays: Delays, of :data:`SCHEMA`.
        began_ns: The first moment, since 1970.
        ended_ns: The last moment.
    """
    within = delays.filter((pc.field("ts_ns") >= began_ns) & (pc.field("ts_ns") <= ended_ns))
    wakes, late, worst = (within[name].to_numpy() for name in ("wakes", "late_ns", "worst_ns"))
    if not wakes.sum():
        return None
    return Lateness(float(late.sum()) / float(wakes.sum()) / 1e3, float(worst.max()) / 1e3)


def machine_warning(late: Lateness | None, machine: str = "") -> list[Warning]:
    """The warning that a run's times are the machine's; none where wakes were in time, or aren't recorded."""
    if late is None or late.mean_us <= LIMIT_US:
        return []
    return [
        catalogue("cluster").warning(
            "machine_shared",
            machine,
            mean_ms=fixed(late.mean_us / 1e3, 2),
            worst_ms=fixed(late.worst_us / 1e3),
            limit_ms=plain(LIMIT_US / 1e3),
        )
    ]


def machines_warnings(late: Mapping[str, Lateness | None]) -> list[Warning]:
    """The warnings of :func:`machine_warning` about the machines of a run, with their names where there are several."""
    return [warning for name, one in late.items() for warning in machine_warning(one, name if len(late) > 1 else "")]
