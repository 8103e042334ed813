"""Measures the memory for a live cluster, and decides when it is too little to go on."""

import re
from collections import defaultdict
from collections.abc import Collection, Iterator
from contextlib import suppress
from pathlib import Path

import msgspec

from slotmark.cleaning import one_name

FLOOR = 0.05
"""The share of the memory that has to be available: a machine without any stands still, and the kernel ends what it chooses."""

FLOOR_MOST_BYTES = 1 << 30
"""The most that this comes to: on a large machine so much is enough."""


FASTEST_BYTES_PER_S = 10 << 30
"""The rate at which processes may take memory: ten times that of fifty nodes that read a large genesis."""


class Memory(msgspec.Struct, frozen=True):
    """Memory that processes can have.

    Attributes:
        available_bytes: What they can still get; caches count, which the kernel gives up.
        total_bytes: All there is.
    """

    available_bytes: int
    total_bytes: int

    @property
    def floor_bytes(self) -> float:
        """Returns the memory that has to be available: :data:`FLOOR` of it, and no more than :data:`FLOOR_MOST_BYTES`."""
        return min(FLOOR * self.total_bytes, FLOOR_MOST_BYTES)

    @property
    def is_short(self) -> bool:
        """Returns whether less than that is available."""
        return self.available_bytes < self.floor_bytes

    @property
    def lasts_s(self) -> float:
        """Returns the time in which it can't run short."""
        return max(0.0, (self.available_bytes - self.floor_bytes) / FASTEST_BYTES_PER_S)


_NAMED = 3
"""The most holders of memory that are named."""

FILES_IN_MEMORY = "files in memory and shared memory (tmpfs, /dev/shm)"


class Holder(msgspec.Struct, frozen=True):
    """A holder of memory that can't be had by giving up caches.

    Attributes:
        name: The program's name, with how many processes it is where it is several; or :data:`FILES_IN_MEMORY`.
        held_bytes: How much.
    """

    name: str
    held_bytes: int


def memory_left(root: Path = Path("/")) -> Memory:
    """The memory of the machine, or of a cgroup that this process is in where that is nearer to what has to be available.

    Args:
        root: Where ``proc`` and ``sys`` are.
    """
    kib = _kib(root)
    machine = Memory(kib["MemAvailable"] << 10, kib["MemTotal"] << 10)
    return min(
        (machine, *_of_groups(root, machine.total_bytes)),
        key=lambda memory: memory.available_bytes / memory.floor_bytes,
    )


def memory_holders(memory: Memory, but: Collection[int], root: Path = Path("/")) -> list[Holder]:
    """Returns the largest holders of memory beside some processes, the largest first.

    Where the memory is that of a cgroup, only processes of the group that this one is in are looked at.

    Args:
        memory: What :func:`memory_left` gave.
        but: The ids of processes that are left out.
        root: Where ``proc`` is.
    """
    of_machine = _kib(root)
    of_group = memory.total_bytes < of_machine["MemTotal"] << 10
    own_group = _read(root / "proc/self/cgroup")
    held: dict[str, list[int]] = defaultdict(list)
    for entry in (root / "proc").iterdir():
        if not entry.name.isdigit() or int(entry.name) in but:
            continue
        if of_group and _read(entry / "cgroup") != own_group:
            continue
        fields = dict(re.findall(r"^(Name|RssAnon):\s+(.*?)(?: kB)?$", _read(entry / "status"), re.MULTILINE))
        if "RssAnon" in fields:  # a thread of the kernel has none
            held[one_name(fields["Name"])].append(int(fields["RssAnon"]) << 10)
    holders = [
        Holder(name if len(parts) == 1 else f"{name} ({len(parts):,} processes)", sum(parts))
        for name, parts in held.items()
    ]
    if not of_group:
        holders.append(Holder(FILES_IN_MEMORY, of_machine.get("Shmem", 0) << 10))
    return sorted(holders, key=lambda holder: (-holder.held_bytes, holder.name))[:_NAMED]


def _read(path: Path) -> str:
    """The text of a file of the kernel; empty where there is none, as of a process that has ended."""
    try:
        return path.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""


def _kib(root: Path) -> dict[str, int]:
    lines = re.findall(r"^(\w+): +(\d+) kB$", (root / "proc/meminfo").read_text(encoding="ascii"), re.MULTILINE)
    return {name: int(number) for name, number in lines}


def _of_groups(root: Path, total_bytes: int) -> Iterator[Memory]:
    """Yields the memory that cgroups leave: those of this process and all above them, of version 1 and 2; none without a limit.

    A limit of the machine's memory or more is none: version 1 states one of exbibytes, and to read what is used takes longest.
    """
    try:
        # A group's name may have any bytes, and what looks like a line's end beside a newline.
        lines = (root / "proc/self/cgroup").read_text(encoding="utf-8", errors="surrogateescape").split("\n")
    except OSError:  # a kernel without groups
        return
    for line in filter(None, lines):
        _, controllers, own = line.split(":", 2)
        if not controllers:
            tops = ("sys/fs/cgroup", "sys/fs/cgroup/unified")
            limit, used, inactive, active = "memory.max", "memory.current", "inactive_file", "active_file"
        elif "memory" in controllers.split(","):
            tops = ("sys/fs/cgroup/memory",)
            limit, used = "memory.limit_in_bytes", "memory.usage_in_bytes"
            inactive, active = "total_inactive_file", "total_active_file"
        else:
            continue
        for top in tops:
            group = root / top / own.lstrip("/")
            for folder in (group, *group.parents):
                if folder == (root / top).parent:
                    break
                # Without a limit there is no file or the word max; in a container the path may be another one's.
                with suppress(OSError, ValueError, KeyError):
                    total = int((folder / limit).read_text("ascii"))
                    if not 0 < total < total_bytes:
                        continue
                    now = int((folder / used).read_text("ascii"))
                    statistics = dict(line.split() for line in (folder / "memory.stat").read_text("ascii").splitlines())
                    # Version 1 doesn't count the kernel's own caches here.
                    cache = sum(int(statistics[key]) for key in (inactive, active)) + int(
                        statistics.get("slab_reclaimable", 0)
                    )
                    yield Memory(total - now + cache, total)
