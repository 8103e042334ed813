"""Starting and ending the processes of a live cluster: the emulated network, and a node per host."""

import json
import os
import signal
import subprocess
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, Any

import msgspec

from slotmark.benches.cluster.bed import Host
from slotmark.benches.cluster.live.nodes import Node
from slotmark.errors import ServerError, TargetError
from slotmark.measure.limits import Group, Limits
from slotmark.measure.process import children_group, ending, first_line, how_ended, last_words, stat_fields
from slotmark.measure.shipped import built_program
from slotmark.numbers import mebibytes

NO_LIMITS, NO_GROUP = Limits(), Group()

AT_LIMIT_REMEDY = "Give it more memory, by --memory or in hosts.toml"

MARK = "SLOTMARK_CLUSTER"
"""The variable by which processes of a live cluster are known: the conductor's process id and when it was started."""

ROUTER_START_S = 120
"""Time that the router may take until all hosts are there: a namespace and a device for each."""

_ROUTER_GRACE_S = 30


def wan_program() -> Path:
    """The router's program; TargetError where it isn't built."""
    return built_program("slotmark-wan", "the emulated network", ", or choose --network loopback")


def start_of(pid: int) -> int:
    """Returns when a process was started, in the kernel's ticks; with its id, this is unique. OSError where there is none."""
    return int(stat_fields(pid)[19])


def own_mark() -> str:
    """The value of :data:`MARK` for what this process starts."""
    return f"{os.getpid()}:{start_of(os.getpid())}"


def spawn(
    command: Sequence[str],
    folder: Path | None,
    out: IO[bytes] | int,
    errors: IO[bytes],
    environment: Mapping[str, str] = os.environ,
    stdin: int = subprocess.DEVNULL,
    processors: Sequence[int] = (),
) -> subprocess.Popen[bytes]:
    """Starts a process of a live cluster, by which it can be known later, and which ends with this one.

    Args:
        command: Its words.
        folder: Where it runs; None for where this process does.
        out: Where its output goes.
        errors: Likewise its standard error.
        environment: Its variables; :data:`MARK` is added.
        stdin: Its input.
        processors: Those that it may run on; empty for all that this process may.

    Raises:
        OSError: It can't be started.
    """
    own = os.sched_getaffinity(0)
    if processors:
        os.sched_setaffinity(0, processors)  # a new process has those of the thread that starts it
    try:
        return subprocess.Popen(
            command,
            cwd=folder,
            stdin=stdin,
            stdout=out,
            stderr=errors,
            process_group=children_group(),
            env={**environment, MARK: own_mark()},
        )
    finally:
        if processors:
            os.sched_setaffinity(0, own)


class Child:
    """A process of a live cluster beside its nodes."""

    _process: subprocess.Popen[bytes]

    @property
    def ended(self) -> int | None:
        """The code that it ended with, as ``Popen.returncode``; None while it runs."""
        return self._process.poll()

    def kill(self) -> None:
        """Ends it at once."""
        with self._process:
            self._process.kill()


_LATE = {"median": "median", "99th centile": "p99", "worst case": "max"}
"""Words for the router's figures of lateness."""


class WanStatistics(msgspec.Struct, frozen=True):
    """The router's statistics: docs/wan.md."""

    duration_us: int
    cpu_us: int
    packets: int
    bytes: int
    lost_as_planned: int
    queue_full_as_planned: int
    own_drops: dict[str, int]
    lateness_us: dict[str, float] | None = None

    def facts(self) -> dict[str, object]:
        """Entries of a manifest."""
        late = self.lateness_us or {}
        return {
            "router, packets": self.packets,
            "router, MB": round(self.bytes / 1e6, 3),
            "router, lost as planned": self.lost_as_planned + self.queue_full_as_planned,
            "router, lost by itself": sum(self.own_drops.values()),
            **{f"router, late by in the {name}, us": round(late[key], 3) for name, key in _LATE.items() if key in late},
            "router, CPU s": round(self.cpu_us / 1e6, 3),
        }


def in_all(found: Iterable[WanStatistics | None]) -> WanStatistics | None:
    """The statistics of the routers of several machines: counts of all, and the lateness of the latest. None where one is missing or there is none."""
    every = list(found)
    known = [one for one in every if one is not None]
    if not known or len(known) < len(every):
        return None
    late = [one.lateness_us for one in known if one.lateness_us]
    return WanStatistics(
        duration_us=max(one.duration_us for one in known),
        **{
            name: sum(getattr(one, name) for one in known)
            for name in ("cpu_us", "packets", "bytes", "lost_as_planned", "queue_full_as_planned")
        },
        own_drops={cause: sum(one.own_drops[cause] for one in known) for cause in known[0].own_drops},
        lateness_us={figure: max(one[figure] for one in late) for figure in late[0]} if late else None,
    )


class Wan(Child):
    """A running emulated network; ends with :meth:`stop`, and by itself when this process ends."""

    def __init__(self, topology: dict[str, Any], folder: Path) -> None:
        """Starts the router. ServerError, with its own words, where it can't be, or where it isn't ready in time."""
        file = folder / "wan.json"
        file.write_text(json.dumps(topology), encoding="utf-8")
        self._program = str(wan_program())
        self._errors = folder / "wan.stderr"
        with self._errors.open("wb") as errors:
            self._process = spawn(
                [self._program, "run", str(file)], None, subprocess.PIPE, errors, stdin=subprocess.PIPE
            )
        self._statistics: WanStatistics | None = None
        assert self._process.stdout
        try:
            line = first_line(self._process.stdout, ROUTER_START_S)
            if line is None:
                raise ServerError(
                    f"--network wan: the emulated network wasn't there within {ROUTER_START_S} s and was stopped. Run it again when "
                    "the machine has less to do, or choose --network loopback."
                )
            if not line.endswith(b"\n"):
                code = self._process.wait()
                words = self._errors.read_text(encoding="utf-8", errors="replace")
                raise ServerError(
                    f"--network wan: {last_words(words.removeprefix('slotmark-wan: ')) or how_ended(code)}"
                )
        except BaseException:
            self.kill()
            raise

    def inside(self, host: str) -> list[str]:
        """Words before a command by which it runs as a host."""
        return [self._program, "exec", "--wan", str(self._process.pid), "--host", host, "--"]

    def last_words(self) -> str:
        """Its end in words, and its last lines."""
        return ending(self._process.wait(), self._errors)

    def stop(self) -> WanStatistics | None:
        """Ends the network; gives what it did, None where it had ended before or was killed."""
        if self._process.returncode is None:
            try:
                output, _ = self._process.communicate(timeout=_ROUTER_GRACE_S)
                self._statistics = msgspec.json.decode(output, type=dict[str, WanStatistics])["statistics"]
            except (subprocess.TimeoutExpired, msgspec.DecodeError, KeyError):
                self.kill()
        return self._statistics


class Preparation(Child):
    """A command that is run once for all hosts before any node is started; ends by itself, and when this process ends.

    Args:
        command: Its words.
        folder: Where it is run.
        output: Where its output is kept.
        name: Name of the files with its output.

    Raises:
        TargetError: It can't be started.
    """

    def __init__(self, command: Sequence[str], folder: Path, output: Path, name: str = "prepare") -> None:
        self._files = (output / f"{name}.stderr", output / f"{name}.stdout")
        errors, out = self._files
        with errors.open("wb") as errors_file, out.open("wb") as out_file:
            try:
                self._process = spawn(command, folder, out_file, errors_file)
            except OSError as error:
                raise TargetError(
                    f"prepare: {command[0]} can't be started ({error.strerror}). Check the command."
                ) from error

    def last_words(self) -> str:
        """Its end in words, and its last lines, without the file's name: it goes with the run directory."""
        return ending(self._process.wait(), *self._files, named=False)


class Running:
    """A node's process.

    Attributes:
        host: Which host it is.
        starts: How often it was started.
    """

    def __init__(
        self,
        node: Node,
        host: Host,
        folder: Path,
        places: Mapping[str, str],
        wan: Wan | None,
        limits: Limits = NO_LIMITS,
        group: Group = NO_GROUP,
        processors: Sequence[int] = (),
        peers: Sequence[str] = (),
    ) -> None:
        self._limits, self._group, self._processors = limits, group, processors
        self._kills = group.kills
        self.host = host
        self.folder = folder
        self.starts = 0
        self._producer = host.pool is not None
        inside = wan.inside(host.name) if wan else []
        self._command = [*group.words, *inside, *node.command(places, producer=self._producer, peers=peers)]
        self._environment = node.environment(places, producer=self._producer)
        self._name = node.name
        self.start()

    def start(self) -> None:
        """Starts the process; its output goes behind what is there already. TargetError where it can't be started."""
        with self._appended("stdout") as out, self._appended("stderr") as errors:
            try:
                self.process = spawn(
                    self._command, self.folder, out, errors, self._environment, processors=self._processors
                )
            except OSError as error:
                raise TargetError(
                    f"--node {self._name}: {self._command[0]} can't be started ({error.strerror}). Check the command."
                ) from error
        self.starts += 1

    def _appended(self, name: str) -> IO[bytes]:
        return (self.folder / name).open("ab")

    @property
    def log(self) -> Path:
        """The file that it prints to."""
        return self.folder / "stdout"

    @property
    def pid(self) -> int:
        """Its process id."""
        return self.process.pid

    @property
    def ended(self) -> int | None:
        """The code that it ended with, as ``Popen.returncode``; None while it runs."""
        return self.process.poll()

    def last_words(self) -> str:
        """Its end in words, and its last lines: those of its standard error, or where there are none of its log."""
        words = ending(self.process.wait(), self.folder / "stderr", self.log)
        return f"{words}. {AT_LIMIT_REMEDY}" if self.ended_at_limit else words

    @property
    def ended_at_limit(self) -> str:
        """Its limit of memory in words, where the kernel ended it for that; else empty."""
        if self.process.returncode != -signal.SIGKILL or self._group.kills <= self._kills:
            return ""
        return mebibytes(self._limits.memory_bytes or 0)

    @property
    def cache_bytes(self) -> int | None:
        """Page cache that it filled; None where that isn't counted."""
        return self._group.cache_bytes


def stop_nodes(nodes: Sequence[Running], grace_s: float, on_wait: Callable[[int], None]) -> list[Running]:
    """Ends nodes: SIGINT, and SIGKILL for those that are still there after the grace; gives those.

    Args:
        nodes: Which ones; those that have ended are let be.
        grace_s: Time that they may take to end.
        on_wait: Called with how many are still there, about ten times a second; may raise.
    """
    for node in nodes:
        if node.ended is None:
            node.process.send_signal(signal.SIGINT)
    end = time.monotonic() + grace_s
    while (left := [node for node in nodes if node.ended is None]) and time.monotonic() < end:
        on_wait(len(left))
        time.sleep(0.1)
    kill_nodes(left)
    return left


def kill_nodes(nodes: Sequence[Running]) -> None:
    """Kills all nodes that are still there, and waits for their ends."""
    for node in nodes:
        node.process.kill()
    for node in nodes:
        node.process.wait()


@contextmanager
def network(topology: dict[str, Any] | None, folder: Path) -> Iterator[Wan | None]:
    """The emulated network of a topology while the block lasts; None, and no network of its own, without one."""
    if topology is None:
        yield None
        return
    wan = Wan(topology, folder)
    try:
        yield wan
    finally:
        wan.stop()


def leftovers() -> list[int]:
    """Processes of live clusters whose conductor has ended: none, unless a node left the kernel's reach."""
    found = []
    for entry in Path("/proc").iterdir():
        if not entry.name.isdigit():
            continue
        with suppress(OSError):  # another user's, or ended meanwhile
            variables = (entry / "environ").read_bytes().split(b"\0")
            marks = [one.partition(b"=")[2] for one in variables if one.startswith(MARK.encode() + b"=")]
            if marks and not _lives(marks[0].decode("ascii", "replace")):
                found.append(int(entry.name))
    return sorted(found)


def _lives(mark: str) -> bool:
    pid, _, started = mark.partition(":")
    try:
        return str(start_of(int(pid))) == started
    except (OSError, ValueError, IndexError):
        return False


def end_leftovers() -> list[int]:
    """Kills :func:`leftovers`, and gives their process ids."""
    ended = leftovers()
    for pid in ended:
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
    return ended
