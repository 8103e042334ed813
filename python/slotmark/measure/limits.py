"""Limits on the memory and the processors of a process. Memory is limited together with the page cache that it fills, so that a set on disk is read from the disk.

The kernel keeps these limits for a group of processes (cgroups, version 1 or 2). Where groups can be made, as by root, each process has one
of its own; elsewhere systemd makes a scope for it, in a slice of its own: the user's manager, or for root that of the machine.
"""

import os
import re
import secrets
import subprocess
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, suppress
from pathlib import Path

import msgspec

from slotmark.errors import PlatformError
from slotmark.numbers import mebibytes, plain

Limited = Callable[[], AbstractContextManager["Group"]]
"""A way to start one process: a group for it, of which nothing is left at the end."""

_PROBE_S = 30

_SYSTEMD = Path("/run/systemd/system")
"""There where systemd manages this machine."""

_PERIOD_US = 100_000
"""Interval over which the kernel counts the time on processors."""

_REMEDY = (
    "Run slotmark as root; or, with cgroup v2, as a user in whose session `systemd-run --user --scope true` works and "
    "whose manager has the controllers memory and cpu."
)
_REMEDY_OF_ROOT = (
    "Mount the groups so that root may write to them, as with `mount -t cgroup2 none /sys/fs/cgroup`; a container needs the right to "
    "(`docker run --privileged`). Or leave the limits out."
)

# Goes into the groups, whose folders stand before --, and then becomes the command: the process id stays the same.
_ENTER = (
    "/bin/sh",
    "-c",
    'while [ "$1" != -- ]; do echo $$ >"$1/cgroup.procs" || exit 126; shift; done; shift; exec "$@"',
    "sh",
)

# Both wait for the end of a pipe that only slotmark holds: the group goes however slotmark ends. The page cache of version 1 stays charged to
# a group until it is asked to let go.
_REMOVE = """
read -r _
for folder; do
  tries=0
  until rmdir "$folder" || [ ! -d "$folder" ] || [ $((tries += 1)) -gt 600 ]; do
    for pid in $(cat "$folder/cgroup.procs"); do kill -KILL "$pid"; done
    [ ! -e "$folder/memory.force_empty" ] || echo 0 >"$folder/memory.force_empty"
    sleep 0.05
  done
done
"""
_STOP = """
read -r _
systemctl "$@" kill --signal=KILL "$0"
systemctl "$@" stop "$0"
"""


class Limits(msgspec.Struct, frozen=True):
    """The limits of a process.

    Attributes:
        memory_bytes: The most memory, its page cache and swap included; None for no limit.
        cpus: The most processors, in time on all of them; None for no limit.
    """

    memory_bytes: int | None = None
    cpus: float | None = None

    def __bool__(self) -> bool:
        """Returns whether there is one."""
        return self.memory_bytes is not None or self.cpus is not None

    @property
    def quota_us(self) -> int:
        """Time on processors in :data:`_PERIOD_US`."""
        return round((self.cpus or 0) * _PERIOD_US)

    def words(self) -> str:
        """The limits in words, as ``256 MiB, 1.5 processors``."""
        memory = [] if self.memory_bytes is None else [mebibytes(self.memory_bytes)]
        return ", ".join([*memory, *([] if self.cpus is None else [f"{plain(self.cpus)} processors"])])


class Group(msgspec.Struct, frozen=True):
    """A group for one process.

    Attributes:
        words: Words before the process's command.
        memory: The folder of its limit of memory; None where there is none.
    """

    words: Sequence[str] = ()
    memory: Path | None = None

    @property
    def kills(self) -> int:
        """Returns how often the kernel ended a process of it for want of memory; 0 where that isn't counted."""
        return self._count(r"^oom_kill (\d+)$", "memory.events", "memory.oom_control") or 0

    @property
    def cache_bytes(self) -> int | None:
        """Returns the page cache that its processes filled; None where it isn't counted."""
        return self._count(r"^(?:total_cache|file) (\d+)$", "memory.stat")

    def _count(self, pattern: str, *names: str) -> int | None:
        """The number in the first of its files that there is."""
        for path in [self.memory / name for name in names] if self.memory else []:
            with suppress(OSError):
                found = re.search(pattern, path.read_text("ascii"), re.MULTILINE)
                return int(found[1]) if found else None
        return None


@contextmanager
def unlimited() -> Iterator[Group]:
    """A process without a limit."""
    yield Group()


def limited(limits: Limits, options: str) -> Limited:
    """A way to limit processes on this machine, which was tried.

    Args:
        limits: What is limited; without any, nothing is.
        options: The options that ask for it, for messages.

    Raises:
        PlatformError: There is none.
    """
    if not limits:
        return unlimited
    reasons: list[str] = []
    for way in _ways(limits):
        try:
            with way.group():
                return way.group
        except PlatformError as error:
            reasons.append(str(error))
    scopes = _scopes(limits)
    if isinstance(scopes, _Scopes):
        return scopes.group
    what = " and ".join(
        name for name, limit in (("memory", limits.memory_bytes), ("processors", limits.cpus)) if limit is not None
    )
    raise PlatformError(
        f"{options}: no group of processes with limited {what} can be made here ({'; '.join([*reasons, scopes])}). "
        + (_REMEDY_OF_ROOT if os.geteuid() == 0 else _REMEDY)
    )


class _Part(msgspec.Struct, frozen=True):
    """The part of a group that one hierarchy has.

    Attributes:
        parent: The folder of the group above it.
        files: What to write to its files.
        of_swap: What to write to files that only some kernels have.
        has_memory: Whether it limits memory.
        controllers: What to write to the parent's ``cgroup.subtree_control`` where its groups lack the files; empty for nothing.
    """

    parent: Path
    files: Mapping[str, str]
    of_swap: Mapping[str, str]
    has_memory: bool
    controllers: str = ""


class _Way(msgspec.Struct, frozen=True):
    """A way to make groups.

    Attributes:
        parts: Of each group; several with version 1, where each controller may have a hierarchy.
    """

    parts: Sequence[_Part]

    @contextmanager
    def group(self) -> Iterator[Group]:
        """A new group for one process. PlatformError where it can't be made."""
        name = f"slotmark-{secrets.token_hex(8)}"
        folders = {part.parent / name: part for part in self.parts}
        with _at_the_end(_REMOVE, "sh", *map(str, folders)):
            for folder, part in folders.items():
                _make(folder, part)
            memory = next((folder for folder, part in folders.items() if part.has_memory), None)
            yield Group((*_ENTER, *map(str, folders), "--"), memory)


@contextmanager
def _at_the_end(script: str, *given: str) -> Iterator[None]:
    """Has a shell do something at the end, also at this process's own."""
    shell = subprocess.Popen(
        ["/bin/sh", "-c", script, *given],
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        process_group=0,
    )
    try:
        yield
    finally:
        shell.communicate()


def _make(folder: Path, part: _Part) -> None:
    try:
        folder.mkdir()
        if part.controllers and not all((folder / name).exists() for name in part.files):
            _write(part.parent / "cgroup.subtree_control", part.controllers)
        there = {name: value for name, value in part.of_swap.items() if (folder / name).exists()}
        for name, value in {**part.files, **there}.items():
            _write(folder / name, value)
    except OSError as error:
        raise PlatformError(f"{error.filename or part.parent}: {error.strerror}") from error


def _write(path: Path, value: str) -> None:
    with path.open("r+", encoding="ascii") as file:  # a folder that is no group's has no such file
        file.write(value)


def _ways(limits: Limits) -> Iterator[_Way]:
    """Yields the ways of this machine to limit what is limited, version 1 first."""
    v1: dict[str, Path] = {}
    for folder, options in _hierarchies("cgroup"):
        v1 |= {name: folder for name in ("memory", "cpu") if name in options and name not in v1}
    size, quota = str(limits.memory_bytes), str(limits.quota_us)
    memory, cpu = limits.memory_bytes is not None, limits.cpus is not None
    of_swap = {"memory.memsw.limit_in_bytes": size, "memory.swappiness": "0"}
    of_cpu = {"cpu.cfs_period_us": str(_PERIOD_US), "cpu.cfs_quota_us": quota}
    if (not memory or "memory" in v1) and (not cpu or "cpu" in v1):
        yield _Way(
            [
                *([_Part(v1["memory"], {"memory.limit_in_bytes": size}, of_swap, has_memory=True)] if memory else []),
                *([_Part(v1["cpu"], of_cpu, {}, has_memory=False)] if cpu else []),
            ]
        )
    files = {
        **({"memory.max": size} if memory else {}),
        **({"cpu.max": f"{quota} {_PERIOD_US}"} if cpu else {}),
    }
    # systemd takes controllers away again that it has not enabled itself: where it runs, it is asked for a scope.
    enabled = "" if _SYSTEMD.exists() else " ".join(f"+{name.partition('.')[0]}" for name in files)
    for parent, _ in _hierarchies("cgroup2"):
        of_swap = {"memory.swap.max": "0"} if memory else {}
        yield _Way([_Part(parent, files, of_swap, has_memory=memory, controllers=enabled)])


class _Scopes(msgspec.Struct, frozen=True):
    """Groups that systemd makes: a scope per process, in a slice of its own, which stays when the process has ended, with what it counted.

    Attributes:
        manager: The option that names systemd's manager; none for that of the machine.
        properties: Options of the scope, with its limits.
        folder: The folder of the slices; None where memory isn't limited.
    """

    manager: Sequence[str]
    properties: Sequence[str]
    folder: Path | None = None

    @contextmanager
    def group(self) -> Iterator[Group]:
        """A new group for one process."""
        name = f"slotmark{secrets.token_hex(8)}.slice"
        scope = ("systemd-run", *self.manager, "--scope", "--quiet", "--collect", f"--slice={name}")
        with _at_the_end(_STOP, name, *self.manager):
            yield Group((*scope, *self.properties, "--"), self.folder and self.folder / name)


def _scopes(limits: Limits) -> "_Scopes | str":
    """Groups of systemd's manager for this user, which were tried; or why there are none: a scope whose manager lacks a controller has no limit, and systemd gives no error."""
    root = next((folder for folder, _ in _hierarchies("cgroup2")), None)
    if root is None:
        return "no cgroup v2"
    memory = ("-p", f"MemoryMax={limits.memory_bytes}", "-p", "MemorySwapMax=0") if limits.memory_bytes else ()
    cpus = ("-p", f"CPUQuota={limits.quota_us * 100 // _PERIOD_US}%") if limits.cpus else ()
    scopes = _Scopes(() if os.geteuid() == 0 else ("--user",), (*memory, *cpus))
    own = (
        'own=$(sed -n s/^0:://p /proc/self/cgroup) || exit; cd "$0$own" || exit; echo "$own"; '
        "cat memory.max || echo; cat cpu.max || echo"
    )
    with scopes.group() as tried:
        try:
            done = subprocess.run(
                [*tried.words, "/bin/sh", "-c", own, str(root)],
                stdin=subprocess.DEVNULL,
                capture_output=True,
                text=True,
                timeout=_PROBE_S,
                check=False,
            )
        except (OSError, subprocess.TimeoutExpired) as error:
            return f"systemd-run: {getattr(error, 'strerror', None) or 'no answer'}"
    if done.returncode:
        return f"systemd-run: {(done.stderr.strip().splitlines() or ['it failed'])[-1]}"
    place, most, quota, *_ = [*done.stdout.splitlines(), "", "", ""]
    # The kernel rounds down to pages.
    if limits.memory_bytes and not (most.isdigit() and 0 <= limits.memory_bytes - int(most) < 1 << 16):
        return f"systemd-run: the limit is {most or 'not there'}"
    if limits.cpus and _share(quota) is None:
        return f"systemd-run: the limit is {quota or 'not there'}"
    of_slices = root / Path(place.lstrip("/")).parent.parent
    return msgspec.structs.replace(scopes, folder=of_slices if memory else None)


def _share(cpu_max: str) -> float | None:
    """The processors that ``cpu.max`` has; None without a limit."""
    quota, _, period = cpu_max.partition(" ")
    return int(quota) / int(period) if quota.isdigit() and period.isdigit() else None


def _hierarchies(kind: str) -> list[tuple[Path, list[str]]]:
    """The folders where hierarchies of groups are mounted, ``cgroup`` of version 1 or ``cgroup2``, each with its options."""
    mounts = [line.split(" ") for line in Path("/proc/self/mounts").read_text(encoding="utf-8").splitlines()]
    return [(Path(folder), options.split(",")) for _, folder, its, options, *_ in mounts if its == kind]
