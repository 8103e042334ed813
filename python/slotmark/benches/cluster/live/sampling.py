"""Samples of what nodes and the machine used, once a second, from /proc.

Counters are since the start of a process, or of the machine: what a second took is a difference of two rows.
"""

import os
import re
import time
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Self

import msgspec
import pyarrow as pa
import pyarrow.compute as pc

from slotmark.measure.process import cpu_ns, stat_fields

USAGE_SCHEMA = pa.schema(
    [
        ("host", pa.string()),
        ("ts_ns", pa.int64()),
        ("cpu_ns", pa.int64()),
        ("runqueue_ns", pa.int64()),
        ("rss_bytes", pa.int64()),
        ("threads", pa.int64()),
        ("fs_read_bytes", pa.int64()),
        ("fs_written_bytes", pa.int64()),
        ("net_read_bytes", pa.int64()),
        ("net_written_bytes", pa.int64()),
        ("major_faults", pa.int64()),
        ("cache_bytes", pa.int64()),
    ]
)
"""Table ``node_usage``: docs/tables.md."""

MACHINE_SCHEMA = pa.schema(
    [
        ("ts_ns", pa.int64()),
        ("busy_ns", pa.int64()),
        ("idle_ns", pa.int64()),
        ("cpu_pressure_ns", pa.int64()),
        ("memory_pressure_ns", pa.int64()),
        ("io_pressure_ns", pa.int64()),
    ]
)
"""Table ``machine_usage``: docs/tables.md."""

_PAGE = os.sysconf("SC_PAGE_SIZE")
_TICK_NS = 10**9 // 100
"""/proc/stat counts in USER_HZ, which is 100 on every architecture of Linux."""


class Sampler:
    """Samples to two Arrow streams, which hold what was sampled however this process ends; a context manager."""

    def __init__(self, usage: Path, machine: Path, *, own_networks: bool) -> None:
        self._files = [pa.OSFile(str(path), "wb") for path in (usage, machine)]
        self._usage = pa.ipc.new_stream(self._files[0], USAGE_SCHEMA)
        self._machine = pa.ipc.new_stream(self._files[1], MACHINE_SCHEMA)
        self._own_networks = own_networks
        self._waited: dict[int, dict[str, int]] = {}

    def __enter__(self) -> Self:
        """Itself."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Ends the streams, those on a full disk without their ends: what is in them can be read."""
        for closed in (self._usage, self._machine, *self._files):
            with suppress(OSError):
                closed.close()

    def sample(self, processes: Iterable[tuple[str, int, int | None]]) -> None:
        """Takes a sample of each process, given with its host's name and the page cache that it filled, and of the machine."""
        rows = []
        for host, pid, cache_bytes in processes:
            with suppress(OSError):  # it ended meanwhile
                rows.append({"host": host, "cache_bytes": cache_bytes, **self._of(pid)})
        if rows:
            self._usage.write_batch(pa.RecordBatch.from_pylist(rows, USAGE_SCHEMA))
        self._machine.write_batch(pa.RecordBatch.from_pylist([machine_row()], MACHINE_SCHEMA))

    def _of(self, pid: int) -> dict[str, int | None]:
        folder = Path(f"/proc/{pid}")
        fields = stat_fields(pid)
        io = dict(re.findall(r"^(\w+): (\d+)$", (folder / "io").read_text(encoding="ascii"), re.MULTILINE))
        read, written = _network_bytes(folder / "net" / "dev") if self._own_networks else (None, None)
        return {
            "ts_ns": time.time_ns(),
            "cpu_ns": cpu_ns(pid),
            "runqueue_ns": self._runqueue_ns(pid),
            "rss_bytes": int(fields[21]) * _PAGE,
            "threads": int(fields[17]),
            "fs_read_bytes": int(io["read_bytes"]),
            "fs_written_bytes": int(io["write_bytes"]),
            "net_read_bytes": read,
            "net_written_bytes": written,
            "major_faults": int(fields[9]),
        }

    def _runqueue_ns(self, pid: int) -> int:
        """Returns how long threads of a process could have run and had no processor; threads that ended since count until they were last seen."""
        waited = self._waited.setdefault(pid, {})
        for thread in Path(f"/proc/{pid}/task").iterdir():
            with suppress(OSError, IndexError):  # the thread ended; or a kernel without these counters
                waited[thread.name] = int((thread / "schedstat").read_text(encoding="ascii").split()[1])
        return sum(waited.values())


def rss_bytes(pid: int) -> int:
    """The resident set of a process; 0 where it has ended."""
    with suppress(OSError):
        return int(stat_fields(pid)[21]) * _PAGE
    return 0


def _network_bytes(path: Path) -> tuple[int, int]:
    """Bytes that a network namespace received and sent on devices other than loopback."""
    read = written = 0
    for line in path.read_text(encoding="ascii").splitlines():
        name, colon, counts = line.partition(":")
        if colon and name.strip() != "lo":
            columns = counts.split()
            read, written = read + int(columns[0]), written + int(columns[8])
    return read, written


def machine_row() -> dict[str, int | None]:
    """A row of :data:`MACHINE_SCHEMA`; pressures are null on a kernel that doesn't count them."""
    ticks = [int(word) for word in Path("/proc/stat").read_text(encoding="ascii").partition("\n")[0].split()[1:9]]
    idle = ticks[3] + ticks[4]
    return {
        "ts_ns": time.time_ns(),
        "busy_ns": (sum(ticks) - idle) * _TICK_NS,
        "idle_ns": idle * _TICK_NS,
        **{f"{what}_pressure_ns": _pressure_ns(what) for what in ("cpu", "memory", "io")},
    }


def _pressure_ns(what: str) -> int | None:
    with suppress(OSError):
        found = re.search(r"^some .*total=(\d+)$", Path(f"/proc/pressure/{what}").read_text("ascii"), re.MULTILINE)
        return int(found[1]) * 1000 if found else None
    return None


def read_samples(path: Path, schema: pa.Schema) -> pa.Table:
    """Returns the rows of a stream, up to where it was cut."""
    batches = []
    with suppress(pa.ArrowInvalid, OSError), pa.OSFile(str(path), "rb") as file:
        batches.extend(pa.ipc.open_stream(file))
    return pa.Table.from_batches(batches, schema)


class Busyness(msgspec.Struct, frozen=True):
    """The load of the machine during a cluster's run.

    Attributes:
        waiting: Share of the time that nodes could have run in which they had no processor.
        busy: The share of all processors' time in which they ran something.
    """

    waiting: float
    busy: float


def busyness(usage: pa.Table, machine: pa.Table, began_ns: int, ended_ns: int) -> Busyness | None:
    """Returns the load of the machine between two moments, by the samples from then; None with fewer than two of the machine.

    Args:
        usage: Samples of nodes, of :data:`USAGE_SCHEMA`.
        machine: Samples of the machine, of :data:`MACHINE_SCHEMA`.
        began_ns: The first moment, since 1970 as ``ts_ns``.
        ended_ns: The last moment.
    """
    within = (pc.field("ts_ns") >= began_ns) & (pc.field("ts_ns") <= ended_ns)
    usage, machine = usage.filter(within), machine.filter(within)
    if machine.num_rows < 2:
        return None
    ran = waited = 0
    before: dict[str, tuple[int, int]] = {}
    rows = zip(*(usage[name].to_pylist() for name in ("host", "cpu_ns", "runqueue_ns")), strict=True)
    for host, on_cpu, off_cpu in rows:
        if host in before:
            ran += _grown(before[host][0], on_cpu)
            waited += _grown(before[host][1], off_cpu)
        before[host] = on_cpu, off_cpu
    busy, idle = (machine[name][-1].as_py() - machine[name][0].as_py() for name in ("busy_ns", "idle_ns"))
    return Busyness(waited / (ran + waited) if ran + waited else 0.0, busy / (busy + idle) if busy + idle else 0.0)


def _grown(earlier: int, later: int) -> int:
    """By how much a counter grew; where it fell its process was started anew, and it counts from 0."""
    return later - earlier if later >= earlier else later
