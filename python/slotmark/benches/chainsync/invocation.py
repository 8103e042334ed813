"""One invocation: a target's process from start to end, measured from outside. See docs/targets.md."""

import os
import resource
import selectors
import subprocess
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import IO, Annotated

import msgspec

from slotmark.benches.chainsync.setting import Setting
from slotmark.benches.chainsync.targets import Program
from slotmark.errors import TargetError
from slotmark.measure.process import (
    Counters,
    children_group,
    how_ended,
    last_words,
    last_words_in,
    nothing_left,
    refuse_endless,
    running,
)
from slotmark.numbers import fixed, mebibytes
from slotmark.temporary import temporary_file

LEAVE_S = 10
"""Time that a target may take to end after its work."""

_OTHER_RECORDS = 5
"""A target prints no more than these besides `progress`."""

CLOCKS_NS = 10_000_000
"""A target's clock may be so much off ours over an invocation, as a clock of whole milliseconds is."""

_LOOK_S = 0.2
"""Time between two looks at a target that prints nothing."""

LONGEST_LINE_BYTES = 1 << 20
"""The longest text that a target may print without a line end."""

_Time = Annotated[int, msgspec.Meta(ge=-(2**63), le=2**63 - 1)]
"""In ns, on a clock with any zero."""

_Count = Annotated[int, msgspec.Meta(ge=0, le=2**63 - 1)]


class Ready(msgspec.Struct, tag_field="event", tag="ready"):
    """The client is connected, and the handshake is done."""

    at_ns: _Time
    connect_ns: _Count
    version: Annotated[int, msgspec.Meta(ge=0, le=2**31 - 1)] | None = None


class Started(msgspec.Struct, tag_field="event", tag="started"):
    """Just before the first request."""

    at_ns: _Time


class First(msgspec.Struct, tag_field="event", tag="first"):
    """The first block is here."""

    at_ns: _Time


class Progress(msgspec.Struct, tag_field="event", tag="progress"):
    """The progress of a client."""

    blocks: _Count
    at_ns: _Time
    bytes: _Count | None = None
    digest: str | None = None


class Done(msgspec.Struct, tag_field="event", tag="done"):
    """The last block is here."""

    blocks: _Count
    at_ns: _Time
    bytes: _Count | None = None
    slot: _Count | None = None
    hash: str | None = None
    digest: str | None = None


class Failed(msgspec.Struct, tag_field="event", tag="error"):
    """It gave up."""

    message: str


Record = Ready | Started | First | Progress | Done | Failed


class Job(msgspec.Struct, frozen=True, kw_only=True):
    """The work of one invocation.

    Attributes:
        setting: Mode and depth.
        address: A socket's path, or ``HOST:PORT`` where the setting is node-to-node.
        magic: The network's.
        start: The point before the first block.
        blocks: Number of blocks.
        progress_every: Blocks between two progress records.
        cores: Where it may run; empty for anywhere.
        timeout_s: Time limit of the whole.
        check: Whether it also checks every hash on the way; only our own client does, and its times are then no measurement.
    """

    setting: Setting
    address: str
    magic: int
    start: str
    blocks: int
    progress_every: int
    cores: frozenset[int]
    timeout_s: float
    check: bool = False

    def arguments(self) -> list[str]:
        """The arguments behind the target's command."""
        place = "--address" if self.setting.node_to_node else "--socket"
        return [
            *("run", place, self.address, "--magic", str(self.magic), "--start", self.start),
            *("--blocks", str(self.blocks), "--mode", self.setting.mode, "--depth", str(self.setting.depth)),
            *("--progress-every", str(self.progress_every)),
            *(["--check"] if self.check else []),
        ]


class Invocation(msgspec.Struct, frozen=True, kw_only=True):
    """The work of one process, with its times and what it used; times in ns, as docs/targets.md defines them."""

    ready: Ready
    started: Started
    first: First
    progress: list[Progress]
    done: Done
    startup_ns: int
    cpu_ns: int
    voluntary_switches: int
    user_us: int
    system_us: int
    peak_bytes: int
    server_cpu_ns: int | None

    @property
    def elapsed_ns(self) -> int:
        """First request to last block, on the client's clock."""
        return self.done.at_ns - self.started.at_ns


def invoke(
    program: Program, job: Job, server_cpu: Callable[[], int | None], server_alive: Callable[[], None]
) -> Invocation:
    """Runs a target once.

    Args:
        program: The target.
        job: The job to run.
        server_cpu: The server's CPU time so far in ns, or None where it can't be known.
        server_alive: Called about once a second while waiting; raises when there's no use in waiting on.

    Raises:
        TargetError: It couldn't start, gave up, broke the contract, or took too long. The process is gone in any case.
    """
    pipe, shown = subprocess.PIPE, program.command
    command = [*program.command, *job.arguments()]
    children_group(program.name)  # before what is to be measured, and what ends with it
    with temporary_file() as stderr, nothing_left():
        begin = time.monotonic_ns()
        with running(
            program.name,
            command,
            shown=shown,
            cores=job.cores,
            group=program.name,
            stdin=pipe,
            stdout=pipe,
            stderr=stderr,
        ) as process:
            return _follow(process, program, job, server_cpu, server_alive, begin, stderr)


def _follow(
    process: subprocess.Popen[bytes],
    program: Program,
    job: Job,
    server_cpu: Callable[[], int | None],
    server_alive: Callable[[], None],
    begin: int,
    stderr: IO[bytes],
) -> Invocation:
    about = f"{program.name} ({job.setting})"
    most = job.blocks // job.progress_every + _OTHER_RECORDS
    lines = _Lines(process, about, begin + int(job.timeout_s * 1e9), most, server_alive, stderr)
    assert process.stdin is not None

    ready = lines.next()
    if not isinstance(ready, Ready):
        raise lines.broken("its first record must be `ready`")
    startup_ns = time.monotonic_ns() - begin
    server_before, counters = server_cpu(), Counters(process.pid)
    went = time.monotonic_ns()
    try:
        process.stdin.write(b"\n")
        process.stdin.flush()
    except BrokenPipeError:
        raise lines.ended() from None

    started: Started | None = None
    first: First | None = None
    progress: list[Progress] = []
    while True:
        match record := lines.next():
            case Done():
                break
            case Started():
                started = record
            case First():
                first = record
            case Progress():
                progress.append(record)
            case _:
                raise lines.broken("`ready` came twice")
    took_ns = time.monotonic_ns() - went
    # The peak is read here: wait4's would be at least our own, from before the new program took over.
    used, server_after = counters.used(), server_cpu()
    lines.refuse_over()
    process.stdin.close()
    usage = _reap(process, about, stderr)
    if usage is None:
        raise lines.broken(f"it was still there {LEAVE_S} s after its standard input had ended")

    if started is None or first is None:
        raise lines.broken("`started` and `first` must come before `done`")
    lines.refuse_more()
    at_ns = [started.at_ns, first.at_ns, *(window.at_ns for window in progress), record.at_ns]
    if complaint := _complaint(
        job,
        [*(one.blocks for one in progress), record.blocks],
        at_ns,
        ((at_ns[-1] - at_ns[0], took_ns), (ready.connect_ns, startup_ns)),
    ):
        raise lines.broken(complaint)
    if process.returncode:
        raise lines.broken(f"it {how_ended(process.returncode)} after `done`")
    return Invocation(
        ready=ready,
        started=started,
        first=first,
        progress=progress,
        done=record,
        startup_ns=startup_ns,
        cpu_ns=used.cpu_ns,
        voluntary_switches=used.voluntary_switches,
        user_us=round(usage.ru_utime * 1e6),
        system_us=round(usage.ru_stime * 1e6),
        peak_bytes=used.peak_bytes,
        server_cpu_ns=None if server_before is None or server_after is None else server_after - server_before,
    )


def _complaint(job: Job, blocks: Sequence[int], at_ns: list[int], spans: Sequence[tuple[int, int]]) -> str:
    """Returns the first fault in the records of a process that ended; empty where there is none.

    Args:
        job: What it was to do.
        blocks: How many it had in each progress record, and in its last one.
        at_ns: Its times, in order.
        spans: How long something took by its clock, and at most by ours, in ns.
    """
    if blocks[-1] != job.blocks:
        return f"it reports {blocks[-1]} blocks, {job.blocks} were asked for"
    if sorted({0, *blocks[:-1]}) != [0, *blocks[:-1]] or max(blocks) > job.blocks:
        return f"its progress records count {', '.join(map(str, blocks[:-1][:5]))} blocks, which don't ascend up to {job.blocks}"
    if sorted(at_ns) != at_ns or at_ns[0] == at_ns[-1]:
        return "its times don't ascend"
    for says, took in spans:
        if says > took + CLOCKS_NS:
            return f"it says that {fixed(says / 1e9, 3)} s went by where {fixed(took / 1e9, 3)} s did"
    return ""


def _reap(process: subprocess.Popen[bytes], about: str, stderr: IO[bytes]) -> resource.struct_rusage | None:
    """Waits for the process to end and returns what it used; None where it stays."""
    deadline = time.monotonic() + LEAVE_S
    while time.monotonic() < deadline:
        pid, status, usage = os.wait4(process.pid, os.WNOHANG)
        if pid:
            process.returncode = os.waitstatus_to_exitcode(status)
            return usage
        refuse_endless(about, stderr)
        time.sleep(0.001)
    return None


def printed_last(stderr: IO[bytes]) -> str:
    """The last words that a target printed to standard error, as a sentence behind another one; empty where it printed nothing."""
    words = last_words_in(stderr)
    return f" It printed: {words}" if words else ""


class _Lines:
    """The records that a process prints, with every way in which they can fail to come."""

    def __init__(
        self,
        process: subprocess.Popen[bytes],
        about: str,
        deadline: int,
        most: int,
        alive: Callable[[], None],
        stderr: IO[bytes],
    ) -> None:
        assert process.stdout is not None
        self._process, self._about, self._deadline, self._alive, self._stderr = process, about, deadline, alive, stderr
        self._most = most
        self._look_at = time.monotonic() + 1
        self._out = process.stdout
        self._decoder = msgspec.json.Decoder(Record)
        self._buffer = bytearray()
        self._selector = selectors.DefaultSelector()
        self._selector.register(self._out, selectors.EVENT_READ)

    def next(self) -> Record:
        while (end := self._buffer.find(b"\n")) < 0:
            if time.monotonic_ns() > self._deadline:
                raise TargetError(
                    f"{self._about}: took too long and was stopped. If it is only slow, give it more with --timeout."
                )
            if len(self._buffer) > LONGEST_LINE_BYTES:
                raise self.broken(f"it printed {mebibytes(LONGEST_LINE_BYTES)} without a line end")
            refuse_endless(self._about, self._stderr)
            if not self._selector.select(timeout=_LOOK_S):
                # What it started may hold its standard output open; its last words may have come in between.
                if self._is_over() and not self._selector.select(timeout=0):
                    raise self.ended()
                if time.monotonic() > self._look_at:
                    self._look_at = time.monotonic() + 1
                    self._alive()
                continue
            part = os.read(self._out.fileno(), 1 << 20)
            if not part:
                raise self.ended()
            self._buffer += part
        self._most -= 1
        if self._most < 0:
            raise self.broken("it printed more records than were asked for")
        line = bytes(self._buffer[:end])
        del self._buffer[: end + 1]
        try:
            record = self._decoder.decode(line)
        except msgspec.DecodeError as error:
            raise self.broken(f"`{line[:80].decode(errors='replace')}` is not a record ({error})") from error
        if isinstance(record, Failed):
            self._alive()
            raise TargetError(f"{self._about}: {last_words(record.message)}")
        return record

    def refuse_more(self) -> None:
        """Raises TargetError where the process, which has ended, printed anything behind `done`."""
        os.set_blocking(self._out.fileno(), False)
        with suppress(BlockingIOError):  # what it started may hold its standard output open
            self._buffer += os.read(self._out.fileno(), 1 << 16)
        if self._buffer:
            raise self.broken(f"it printed `{bytes(self._buffer[:80]).decode(errors='replace').strip()}` after `done`")

    def refuse_over(self) -> None:
        """Raises TargetError where the process has ended though its standard input hasn't: its memory can't be read then."""
        if self._is_over():
            raise self.broken("it ended before its standard input did")

    def _is_over(self) -> bool:
        """Returns whether the process has ended; it is not waited for, since waiting gives what it used."""
        return os.waitid(os.P_PID, self._process.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None

    def broken(self, what: str) -> TargetError:
        return TargetError(f"{self._about}: broke the contract of docs/targets.md: {what}.{printed_last(self._stderr)}")

    def ended(self) -> TargetError:
        self._alive()
        try:
            how = how_ended(self._process.wait(LEAVE_S))
        except subprocess.TimeoutExpired:
            how = "closed its standard output"
        return TargetError(f"{self._about}: {how} before `done`.{printed_last(self._stderr)}")
