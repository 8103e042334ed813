"""Processes that are measured: starting and ending them, how they ended, and the system's counters of CPU time, context switches and memory."""

import ctypes
import os
import platform
import selectors
import shlex
import signal
import subprocess
import time
from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager, nullcontext, suppress
from pathlib import Path
from typing import IO, Any

import msgspec

from slotmark.errors import PlatformError, TargetError
from slotmark.numbers import mebibytes, plain

_CPUCLOCK_SCHED = (
    2  # the clock that a process is scheduled by; see clock_getcpuclockid(3) and the kernel's posix-timers_types.h
)


def refuse_without_linux(what: str) -> None:
    """Raises PlatformError where processes can't be measured: their clocks, cores and memory are read in ways that only Linux has."""
    if platform.system() != "Linux":
        raise PlatformError(
            f"{what} measures on Linux only, and this is {platform.system()}. Run it on Linux; runs, logs and files from there can be "
            "imported, shown and compared here."
        )


def children_group(name: str = "") -> int:
    """The process group that children are started in, so that they end with this process, however it ends.

    A program may signal its whole group, as scripts do that end what they started: who isn't to end by it is in a group of another name.

    Its leader is a shell that waits for the end of a pipe which only this process holds, and then kills the whole group:
    children, what those have started, and itself. Nothing is between this process and its children, so starting them takes
    no longer, and a signal from the terminal reaches this process alone.
    """
    if (there := _guards.get(name)) is not None and there.poll() is None:
        return there.pid
    guard = subprocess.Popen(
        ["/bin/sh", "-c", "read -r _; kill -KILL 0"],
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        process_group=0,
    )
    _guards[name] = guard
    return guard.pid


_guards: dict[str, subprocess.Popen[bytes]] = {}
"""By the name of the group; keeps the pipes open until this process ends."""


_PR_SET_CHILD_SUBREAPER, _PR_GET_CHILD_SUBREAPER = 36, 37
"""See prctl(2)."""

_ENDING_S = 10
"""Time that ending what a process left may take: less where it does not start new ones faster than they are ended."""


@contextmanager
def nothing_left() -> Iterator[None]:
    """Ends the processes that those started inside have left running, also where they are in a session of their own.

    Such a process becomes a child of this one as soon as its parent has ended. A process that is started inside is waited for inside. One
    such block may be inside another.
    """
    if platform.system() != "Linux":
        yield
        return
    children_group()  # whose guard is a child of this process too
    before, adopted = _children(), _adopts_orphans()
    adopt_orphans(on=True)
    try:
        yield
    finally:
        end_children(before)
        adopt_orphans(on=adopted)


def adopt_orphans(*, on: bool) -> None:
    """Has the kernel make this process the parent of its descendants that lose theirs, or not any more."""
    ctypes.CDLL(None).prctl(_PR_SET_CHILD_SUBREAPER, int(on), 0, 0, 0)


def _adopts_orphans() -> bool:
    found = ctypes.c_int()
    ctypes.CDLL(None).prctl(_PR_GET_CHILD_SUBREAPER, ctypes.byref(found), 0, 0, 0)
    return bool(found.value)


def end_children(but: Collection[int] = ()) -> None:
    """Kills this process's children, and those that become its children by that, until none is left or it has taken :data:`_ENDING_S`.

    Args:
        but: The process ids of children that stay.
    """
    until = time.monotonic() + _ENDING_S
    while (left := _children() - set(but)) and time.monotonic() < until:
        for pid in left:
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
            with suppress(ChildProcessError):
                os.waitpid(pid, 0)


def _children() -> set[int]:
    """The process ids of this process's children, those that ended and were not waited for included."""
    return {pid for pid, parent in _parents().items() if parent == os.getpid()}


def _parents() -> dict[int, int]:
    """The parent of each process of this machine, by process ids."""
    found = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            with suppress(OSError):  # a process may end while we look
                found[int(entry.name)] = int(stat_fields(int(entry.name))[1])
    return found


def family(pid: int) -> list[int]:
    """The process ids of a process and, behind it, of those that it has started, itself or through others, as far as they are there."""
    parents, found = _parents(), [pid]
    for one in found:
        found += [child for child, parent in parents.items() if parent == one]
    return found


def start(
    label: str,
    command: Sequence[str],
    *,
    shown: Sequence[str] = (),
    cores: frozenset[int] = frozenset(),
    group: str = "",
    stdin: int = subprocess.DEVNULL,
    stdout: int | IO[bytes] = subprocess.DEVNULL,
    stderr: int | IO[bytes] = subprocess.DEVNULL,
) -> subprocess.Popen[bytes]:
    """Starts a process that ends with this one.

    Args:
        label: What to call it; errors begin with it.
        command: Its words.
        shown: Those of its words that an error shows; empty for all.
        cores: Where it may run; empty for anywhere.
        group: Of which processes it ends with, as of :func:`children_group`.
        stdin: As of ``subprocess.Popen``.
        stdout: Likewise.
        stderr: Likewise.

    Raises:
        TargetError: It can't be started.
    """
    try:
        with started_on(cores):
            return subprocess.Popen(
                command, stdin=stdin, stdout=stdout, stderr=stderr, process_group=children_group(group)
            )
    except OSError as error:
        words = shlex.join(shown or command)
        raise TargetError(f"{label}: can't start `{words}` ({error.strerror}). Check the command.") from error


def end(process: subprocess.Popen[bytes]) -> None:
    """Kills a process that is still there, waits for its end, and closes its pipes."""
    if process.returncode is None:
        process.kill()
        process.wait()
    for pipe in (process.stdin, process.stdout, process.stderr):
        if pipe is not None:
            with suppress(BrokenPipeError):
                pipe.close()


@contextmanager
def running(label: str, command: Sequence[str], **how: Any) -> Iterator[subprocess.Popen[bytes]]:
    """A process while the block lasts, as of :func:`start`."""
    process = start(label, command, **how)
    try:
        yield process
    finally:
        end(process)


MOST_ANSWERED_BYTES = 1 << 20
"""The longest answer that a program may print when it is asked what it is."""


class Answer(msgspec.Struct, frozen=True):
    """The output of a program that has ended.

    Attributes:
        code: As ``Popen.returncode``.
        out: Its standard output.
        errors: Its standard error.
    """

    code: int
    out: bytes
    errors: bytes


def answer(label: str, command: Sequence[str], timeout_s: float) -> Answer:
    """Runs a program that prints little, to its end; what it has started and left running is ended too.

    Args:
        label: Which argument names it; errors begin with it.
        command: Its words.
        timeout_s: Time limit.

    Raises:
        TargetError: It can't be started, takes longer, or prints more than :data:`MOST_ANSWERED_BYTES`.
    """
    words = shlex.join(command)
    pipe = subprocess.PIPE
    with nothing_left(), running(label, command, stdout=pipe, stderr=pipe) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        until = time.monotonic() + timeout_s
        printed = {process.stdout.fileno(): bytearray(), process.stderr.fileno(): bytearray()}
        with selectors.DefaultSelector() as selector:
            for number in printed:
                os.set_blocking(number, False)
                selector.register(number, selectors.EVENT_READ)
            ended = False
            # Until it has ended and nothing more is in the pipes: something that it left may keep them open.
            while selector.get_map():
                ready = selector.select(0 if ended else 0.02)
                if ended and not ready:
                    break
                for key, _ in ready:
                    if part := os.read(key.fd, 1 << 16):
                        printed[key.fd] += part
                    else:
                        selector.unregister(key.fd)
                if sum(map(len, printed.values())) > MOST_ANSWERED_BYTES:
                    raise TargetError(
                        f"{label}: `{words}` printed more than {mebibytes(MOST_ANSWERED_BYTES)} and was stopped. Check the command."
                    )
                if time.monotonic() > until:
                    break
                ended = process.poll() is not None
        try:
            code = process.wait(max(0.0, until - time.monotonic()))
        except subprocess.TimeoutExpired:
            raise TargetError(
                f"{label}: `{words}` took longer than {plain(timeout_s)} s and was stopped. Check the command."
            ) from None
    out, errors = map(bytes, printed.values())
    return Answer(code, out, errors)


def stat_fields(pid: int) -> list[str]:
    """The fields of a process's ``/proc/PID/stat`` from the third on, its state; see proc(5). OSError where there is no such process."""
    text = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace")
    return text.rpartition(")")[2].split()  # the second is its name in parentheses, and a name may have any character


def cpu_ns(pid: int) -> int:
    """CPU time of a living process, all threads, user and system, in ns."""
    return time.clock_gettime_ns((~pid << 3) | _CPUCLOCK_SCHED)


class Use(msgspec.Struct, frozen=True, kw_only=True):
    """The work of a process, and of those that it has started, between two moments.

    Attributes:
        cpu_ns: CPU time of all threads, in the program and in the kernel.
        voluntary_switches: Times that their threads went to sleep, of those that were there at the second moment.
        peak_bytes: The largest resident sets up to the second moment, added up; 0 where all had ended by then.
    """

    cpu_ns: int
    voluntary_switches: int
    peak_bytes: int


class Counters:
    """The counters of a process, and of those that it has started, from the moment when this is made on."""

    def __init__(self, pid: int) -> None:
        self._pid = pid
        self._there = family(pid)
        self._switches = _voluntary_switches(self._there)
        self._cpu_ns = _cpu_with_waited_ns(self._there)

    def used(self) -> Use:
        """Resources used since then. CPU time of processes that were there then is read first: looking for others takes some 5 ms."""
        cpu_ns = _cpu_with_waited_ns(self._there) - self._cpu_ns
        there = family(self._pid)
        cpu_ns += _cpu_with_waited_ns(pid for pid in there if pid not in self._there)
        slept = _voluntary_switches(there)
        return Use(
            cpu_ns=cpu_ns,
            voluntary_switches=sum(times - self._switches.get(thread, 0) for thread, times in slept.items()),
            peak_bytes=peak_bytes(*there),
        )


def _cpu_with_waited_ns(pids: Iterable[int]) -> int:
    """CPU time of processes that are there, and of children that have ended and that they have waited for, which the kernel counts in ticks of 10 ms."""
    total = 0
    for pid in pids:
        with suppress(OSError):  # it has ended: who has waited for it has its time
            total += cpu_ns(pid)
            user, system = stat_fields(pid)[13:15]
            total += (int(user) + int(system)) * 10**9 // os.sysconf("SC_CLK_TCK")
    return total


def _voluntary_switches(pids: Iterable[int]) -> dict[int, int]:
    """Times that each living thread of these processes went to sleep so far, by the thread's id; threads that have ended are not in it."""
    found = {}
    for pid in pids:
        with suppress(OSError):
            for thread in Path(f"/proc/{pid}/task").iterdir():
                with suppress(OSError):  # a thread may end while we look
                    for line in (thread / "status").read_text(encoding="ascii", errors="replace").splitlines():
                        if line.startswith("voluntary_ctxt_switches"):
                            found[int(thread.name)] = int(line.split()[1])
    return found


def peak_bytes(*pids: int) -> int:
    """The largest resident sets so far of processes that are there, added up; 0 for one that has ended."""
    total = 0
    for pid in pids:
        with suppress(OSError):
            for line in Path(f"/proc/{pid}/status").read_text(encoding="ascii", errors="replace").splitlines():
                if line.startswith("VmHWM"):
                    total += int(line.split()[1]) * 1024
    return total


@contextmanager
def started_on(cores: frozenset[int]) -> Iterator[None]:
    """Processes started inside run on these cores only, all their threads; an empty set changes nothing.

    A child takes over where its parent's thread may run, from its first instruction on.
    """
    if not cores:
        yield
        return
    before = os.sched_getaffinity(0)
    try:
        os.sched_setaffinity(0, cores)
        yield
    finally:
        os.sched_setaffinity(0, before)


def split_cores() -> tuple[frozenset[int], frozenset[int]]:
    """One core for the server and all others for the client; both empty where there is only one."""
    first, *others = sorted(os.sched_getaffinity(0))
    return (frozenset([first]), frozenset(others)) if others else (frozenset(), frozenset())


def first_line(pipe: IO[bytes], timeout_s: float) -> bytes | None:
    """The first line of a pipe, shorter where the pipe ended before; None where neither came in time."""
    deadline = time.monotonic() + timeout_s
    line = b""
    with selectors.DefaultSelector() as selector:
        selector.register(pipe, selectors.EVENT_READ)
        while not line.endswith(b"\n"):
            if not selector.select(timeout=max(0.0, deadline - time.monotonic())):
                return None
            byte = os.read(pipe.fileno(), 1)  # what comes behind the line is read from the pipe's own buffer later
            if not byte:
                break
            line += byte
    return line


def how_ended(code: int) -> str:
    """The end of a process, as words behind its name: ``exited 1``, ``was killed by signal 9``; the code is ``Popen.returncode``."""
    return f"was killed by signal {-code}" if code < 0 else f"exited {code}"


_MOST_LINES = 5
_MOST_BEFORE = 300
"""Characters of a program's own words in an error, all but its last line: what has no room is left out from the front."""

_MOST_OF_LAST = 2_000
"""Characters of the last line: of a longer one its beginning and its end are shown."""


def last_words(text: str) -> str:
    """The last lines that a program printed, as one line: the last one whole, since it has the reason, and before it what fits; empty where there is none."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    if not lines:
        return ""
    *before, last = lines
    if len(last) > _MOST_OF_LAST:
        half = _MOST_OF_LAST // 2
        last = f"{last[:half]}… ({len(last):,} characters) …{last[-half:]}"
    shown = [last]
    for line in reversed(before[1 - _MOST_LINES :]):
        if sum(map(len, shown)) + len(line) > _MOST_BEFORE:
            break
        shown.insert(0, line)
    return " | ".join(shown)


MOST_KEPT_BYTES = 64 << 20
"""Bytes that a program may print to the file that is kept for its last words."""


def refuse_endless(label: str, printed: IO[bytes]) -> None:
    """Raises TargetError where a program has printed more to a file than is kept of it, before it fills the disk."""
    if os.fstat(printed.fileno()).st_size > MOST_KEPT_BYTES:
        raise TargetError(
            f"{label}: printed more than {mebibytes(MOST_KEPT_BYTES)} to standard error and was stopped. Have it print less."
        )


_LAST_BYTES = 1 << 16
"""Bytes at the end of a program's output that are searched for its last words."""


def last_words_in(printed: Path | IO[bytes]) -> str:
    """The last lines of a file that a program printed to, as of :func:`last_words`."""
    with printed.open("rb") if isinstance(printed, Path) else nullcontext(printed) as file:
        file.seek(max(0, os.fstat(file.fileno()).st_size - _LAST_BYTES))
        return last_words(file.read(_LAST_BYTES).decode(errors="replace"))


def ending(code: int, *files: Path, named: bool = True) -> str:
    """The end of a process in words, and the last lines of the first of its files that has any, with the file's name or without."""
    how = f"it {how_ended(code)}"
    for file in files:
        if words := last_words_in(file):
            return f"{how}; {f'the end of {file}: ' if named else ''}{words}"
    return f"{how}; it printed nothing"
