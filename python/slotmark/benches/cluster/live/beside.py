"""Processes that run on a machine beside its nodes, to reach them and to watch them, and what that takes of the machine."""

import os
import time
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path

import msgspec
import pyarrow as pa

from slotmark.benches.cluster.live.sampling import rss_bytes
from slotmark.measure.process import stat_fields
from slotmark.metrics.catalogue import catalogue
from slotmark.numbers import fixed, mebibytes, percent
from slotmark.warnings import Warning

_TICK_NS = 10**9 // os.sysconf("SC_CLK_TCK")

CPU_LIMIT = 0.01
"""The share of one core above which a run is warned of it."""

MEMORY_LIMIT_BYTES = 400 << 20
"""The memory above which a run is warned of it."""

SCHEMA = pa.schema(
    [
        ("machine", pa.string()),
        ("measured_ns", pa.int64()),
        ("processes", pa.int64()),
        ("cpu_ns", pa.int64()),
        ("memory_bytes", pa.int64()),
        ("packets", pa.int64()),
    ]
)
"""Table ``beside``: docs/tables.md."""


class Beside(msgspec.Struct, frozen=True):
    """Use of a machine by processes beside the nodes, before they did.

    Attributes:
        measured_ns: For how long it was measured.
        processes: Number of processes.
        cpu_ns: Their CPU time then.
        memory_bytes: Their memory at the end: pages that processes share are divided among them.
        packets: All that the machine's network devices sent and received meanwhile, of whatever process.
    """

    measured_ns: int
    processes: int
    cpu_ns: int
    memory_bytes: int
    packets: int

    @property
    def cores(self) -> float:
        """The share of one core."""
        return self.cpu_ns / self.measured_ns if self.measured_ns else 0.0

    @property
    def packets_per_s(self) -> float:
        """Packets per second."""
        return self.packets * 1e9 / self.measured_ns if self.measured_ns else 0.0


class Beginning:
    """The counters at the beginning of a measurement of some processes and all that they have started, and of this one."""

    def __init__(self, pids: Sequence[int]) -> None:
        self._pids = {*pids, os.getpid()}
        self._at_ns, self._cpu_ns, self._packets = time.monotonic_ns(), self._counters(), _packets()

    def _counters(self) -> dict[int, int]:
        found = {}
        for pid in _with_children(self._pids):
            with suppress(OSError):  # it has ended
                fields = stat_fields(pid)
                found[pid] = (int(fields[11]) + int(fields[12])) * _TICK_NS
        return found

    def ended(self) -> Beside:
        """Returns the use since then."""
        now = self._counters()
        return Beside(
            measured_ns=time.monotonic_ns() - self._at_ns,
            processes=len(now),
            cpu_ns=sum(cpu_ns - self._cpu_ns.get(pid, 0) for pid, cpu_ns in now.items()),
            memory_bytes=sum(map(memory_bytes, now)),
            packets=_packets() - self._packets,
        )


def _with_children(pids: Iterable[int]) -> set[int]:
    """Process ids with those of all their descendants."""
    parents = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            with suppress(OSError, IndexError):
                parents[int(entry.name)] = int(stat_fields(int(entry.name))[1])
    found = set(pids)
    while more := {pid for pid, parent in parents.items() if parent in found and pid not in found}:
        found |= more
    return found


def memory_bytes(pid: int) -> int:
    """The memory of a process, its share of shared pages; its resident set where the kernel doesn't show that."""
    with suppress(OSError):
        for line in Path(f"/proc/{pid}/smaps_rollup").read_text(encoding="ascii").splitlines():
            if line.startswith("Pss:"):
                return int(line.split()[1]) << 10
    return rss_bytes(pid)


def _packets() -> int:
    """Packets that this network's devices received and sent, loopback left out."""
    count = 0
    for line in Path("/proc/net/dev").read_text(encoding="ascii").splitlines():
        name, colon, counts = line.partition(":")
        if colon and name.strip() != "lo":
            columns = counts.split()
            count += int(columns[1]) + int(columns[9])
    return count


def beside_warnings(machine: str, found: Beside) -> list[Warning]:
    """The warning that what watches the nodes took more of a machine than it should; none where it didn't."""
    if found.cores <= CPU_LIMIT and found.memory_bytes <= MEMORY_LIMIT_BYTES:
        return []
    of_bench = catalogue("cluster")
    return [
        of_bench.warning(
            "watched",
            machine,
            share=percent(found.cores),
            memory=mebibytes(found.memory_bytes),
            seconds=fixed(found.measured_ns / 1e9),
            share_limit=percent(CPU_LIMIT),
            memory_limit=mebibytes(MEMORY_LIMIT_BYTES),
        )
    ]


def beside_table(found: Mapping[str, Beside]) -> pa.Table:
    """A row per machine, of :data:`SCHEMA`."""
    return pa.Table.from_pylist(
        [{"machine": name, **msgspec.structs.asdict(one)} for name, one in found.items()], SCHEMA
    )
