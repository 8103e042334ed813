"""A limit on the memory of a process and of the page cache that it fills, so that a set on disk is read from the disk.

The kernel keeps this limit for a group of processes (cgroups, version 1 or 2). Where groups can be made, as by root, each process has one
of its own; elsewhere systemd makes it, where the user's manager may (`systemd-run --user --scope`).
"""

import secrets
import subprocess
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path

import msgspec

from slotmark.errors import PlatformError

Limited = Callable[[], AbstractContextManager[Sequence[str]]]
"""A way to start one process: the words to put before its command, and at the end nothing of its group is left."""

_PROBE_S = 30

_REMEDY = (
    "Run slotmark as root; or, with cgroup v2, as a user in whose session `systemd-run --user --scope true` works and "
    "whose manager has the memory controller."
)

# Goes into the group, and then becomes the command: the process id stays the same.
_ENTER = ("/bin/sh", "-c", 'echo $$ >"$0/cgroup.procs" && exec "$@"')

# Waits for the end of a pipe that only slotmark holds: the group goes however slotmark ends. The page cache of version 1 stays charged to
# a group until it is asked to let go.
_REMOVE = """
read -r _
tries=0
until rmdir "$0" || [ ! -d "$0" ] || [ $((tries += 1)) -gt 600 ]; do
  for pid in $(cat "$0/cgroup.procs"); do kill -KILL "$pid"; done
  [ ! -e "$0/memory.force_empty" ] || echo 0 >"$0/memory.force_empty"
  sleep 0.05
done
"""


def unlimited() -> AbstractContextManager[Sequence[str]]:
    """A process without a limit."""
    return _words(())


def limited(limit_bytes: int) -> Limited:
    """A way to limit processes on this machine to so much memory, swap included, which was tried.

    Raises:
        PlatformError: There is none.
    """
    reasons: list[str] = []
    for hierarchy in _hierarchies():
        try:
            with hierarchy.group(limit_bytes):
                return lambda: hierarchy.group(limit_bytes)
        except PlatformError as error:
            reasons.append(str(error))
    scope = ("systemd-run", "--user", "--scope", "--quiet", "--collect")
    words = (*scope, "-p", f"MemoryMax={limit_bytes}", "-p", "MemorySwapMax=0", "--")
    reason = _why_no_scope(words, limit_bytes)
    if reason is None:
        return lambda: _words(words)
    raise PlatformError(
        f"--memory-limit: no group of processes with limited memory can be made here ({'; '.join([*reasons, reason])}). {_REMEDY}"
    )


class _Hierarchy(msgspec.Struct, frozen=True):
    """A place where groups can be made.

    Attributes:
        parent: The folder of the group above them.
        limits: Names of the files that limit memory, and swap with it; the first must be there.
        no_swap: What to write to files that are there, so that nothing goes to swap.
    """

    parent: Path
    limits: tuple[str, ...]
    no_swap: Mapping[str, str]

    @contextmanager
    def group(self, limit_bytes: int) -> Iterator[Sequence[str]]:
        """A new group for one process. PlatformError where it can't be made."""
        folder = self.parent / f"slotmark-{secrets.token_hex(8)}"
        try:
            folder.mkdir()
        except OSError as error:
            raise PlatformError(f"{self.parent}: {error.strerror}") from error
        removing = subprocess.Popen(
            ["/bin/sh", "-c", _REMOVE, str(folder)],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            process_group=0,
        )
        try:
            self._limit(folder, limit_bytes)
            yield (*_ENTER, str(folder))
        finally:
            removing.communicate()

    def _limit(self, folder: Path, limit_bytes: int) -> None:
        files = {**dict.fromkeys(self.limits, str(limit_bytes)), **self.no_swap}
        try:
            for name, value in files.items():
                # All but the first are there only in kernels that count swap.
                if name == self.limits[0] or (folder / name).exists():
                    (folder / name).write_text(value)
        except OSError as error:
            raise PlatformError(f"{self.parent}: {error.strerror}") from error


def _hierarchies() -> Iterator[_Hierarchy]:
    """Yields the hierarchies of this machine in which memory is limited, version 1 first."""
    v1: list[Path] = []
    v2: list[Path] = []
    for line in Path("/proc/self/mounts").read_text(encoding="utf-8").splitlines():
        _, folder, kind, options, *_ = line.split(" ")
        if kind == "cgroup" and "memory" in options.split(","):
            v1.append(Path(folder))
        elif kind == "cgroup2":
            v2.append(Path(folder))
    for parent in v1:
        yield _Hierarchy(parent, ("memory.limit_in_bytes", "memory.memsw.limit_in_bytes"), {"memory.swappiness": "0"})
    for parent in v2:
        yield _Hierarchy(parent, ("memory.max",), {"memory.swap.max": "0"})


def _why_no_scope(words: Sequence[str], limit_bytes: int) -> str | None:
    """The reason why systemd limits nothing here; None where it does: a scope whose manager lacks the controller has no limit, and systemd gives no error."""
    roots = [hierarchy.parent for hierarchy in _hierarchies() if hierarchy.limits == ("memory.max",)]
    if not roots:
        return "no cgroup v2"
    own_limit = 'cat "$0$(sed -n s/^0:://p /proc/self/cgroup)/memory.max"'
    try:
        done = subprocess.run(
            [*words, "/bin/sh", "-c", own_limit, str(roots[0])],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=_PROBE_S,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        return f"systemd-run: {getattr(error, 'strerror', None) or 'no answer'}"
    found = done.stdout.strip()
    # The kernel rounds down to pages.
    if done.returncode == 0 and found.isdigit() and 0 <= limit_bytes - int(found) < 1 << 16:
        return None
    return f"systemd-run: {(done.stderr.strip().splitlines() or ['the limit is ' + (found or 'not there')])[-1]}"


@contextmanager
def _words(words: Sequence[str]) -> Iterator[Sequence[str]]:
    yield words
