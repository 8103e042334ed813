"""One client at a node's tip: its process, the relay between it and the node, and each block's way from one to the other."""

import os
import subprocess
import time
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Self

import msgspec

from slotmark import _core
from slotmark._core import Announced, Ended, RolledBack, Waits
from slotmark.benches.chainsync.invocation import LEAVE_S, LONGEST_LINE_BYTES, Failed, Ready, printed_last
from slotmark.benches.chainsync.session import Case
from slotmark.benches.chainsync.setting import Mode, Setting
from slotmark.benches.chainsync.targets import FLOOR, Program
from slotmark.errors import ProofError, TargetError
from slotmark.measure.process import end, how_ended, last_words, refuse_endless, start
from slotmark.numbers import mebibytes
from slotmark.temporary import temporary_file, temporary_folder


class Block(msgspec.Struct, tag_field="event", tag="block"):
    """A client has done with a block."""

    at_ns: int
    slot: int | None = None
    hash: str | None = None
    digest: str | None = None


Record = Ready | Block | Failed


class Follower:
    """A client that follows a node through a relay of its own; a context manager that ends both.

    Attributes:
        program: The client.
        mode: What it does to each block.
        ready: Its first record; None before.
        waiting: Whether it has reached the node's tip.
        announced: What the node announced to it, in order.
        decoded: What it has done with, in the same order; a client does one block after the other.
        rollbacks: In order.
        ended: How the node ended the connection; None while it is there.
    """

    def __init__(self, program: Program, mode: Mode, node: str, magic: int, start: str) -> None:
        self.program = program
        self.mode: Mode = mode
        self._node, self._magic = node, magic
        self._records = msgspec.json.Decoder(Record)
        self._begin_at(start)

    def _begin_at(self, start: str) -> None:
        self.ready: Ready | None = None
        self.waiting = False
        self.announced: list[Announced] = []
        self.decoded: list[Block] = []
        self.rollbacks: list[RolledBack] = []
        self.ended: Ended | None = None
        self._start = start
        self._checked = 0
        self._buffer = bytearray()

    def begin_again(self, start: str) -> None:
        """Ends the client and the relay, and starts both anew, from this point on. Raises as :meth:`__enter__`."""
        self.__exit__(None, None, None)
        self._begin_at(start)
        self.__enter__()

    def __str__(self) -> str:
        """The client and what it does."""
        return f"{self.program.name} ({self.mode})"

    def __enter__(self) -> Self:
        """Starts the relay and the client. TargetError where the client can't be started."""
        self._folder = temporary_folder()
        own = None if Setting(self.mode, 1).node_to_node else str(Path(self._folder.name) / "node.socket")
        self._relay = _core.Relay(self._node, own, self.mode)
        self._stderr = temporary_file()
        self._began = time.monotonic_ns()
        command = [
            *(*self.program.command, "follow", "--socket" if own else "--address", self._relay.place),
            *("--magic", str(self._magic), "--start", self._start, "--mode", self.mode),
        ]
        pipe, shown = subprocess.PIPE, self.program.command
        try:
            self._process = start(
                self.program.name, command, shown=shown, group=str(self), stdin=pipe, stdout=pipe, stderr=self._stderr
            )
        except TargetError:
            self._relay.stop()
            self._folder.cleanup()
            raise
        assert self._process.stdout is not None
        os.set_blocking(self._process.stdout.fileno(), False)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Ends the client, by force where it doesn't go, and the relay."""
        end(self._process)
        self._relay.stop()
        self._stderr.close()
        self._folder.cleanup()

    @property
    def case(self) -> Case:
        """The client and what it does, as sessions name it."""
        return Case(self.program.name, Setting(self.mode, 1))

    def look(self) -> None:
        """Takes what has come from the client and from the relay since the last look, and checks it.

        Raises:
            TargetError: The client gave up, went away, or broke the contract; ProofError where its digest isn't that of the blocks it
                got. None of these where the node had ended the connection before.
        """
        refuse_endless(str(self), self._stderr)
        is_over = self._process.poll() is not None  # asked before its last records are read
        gone = self._read() or is_over  # what it started may hold its standard output open
        for event in self._relay.events():
            match event:
                case Waits():
                    self.waiting = True
                case Announced():
                    self.announced.append(event)
                case RolledBack():
                    self.rollbacks.append(event)
                case Ended():
                    self.ended = self.ended or event
        self._check()
        if self.ended is not None and self.ended.by_node:
            return  # whatever becomes of the client follows from that
        if isinstance(gone, Failed):
            raise TargetError(f"{self}: {last_words(gone.message)}")
        if gone:
            how = how_ended(self._process.wait())
            raise TargetError(f"{self}: {how} while it followed.{printed_last(self._stderr)}")
        if self.ended is not None:
            raise TargetError(f"{self}: left the node: {self.ended.why}.{printed_last(self._stderr)}")

    def leave(self) -> None:
        """Ends the client's standard input and waits until it is gone. TargetError where it stays, or exits with an error."""
        assert self._process.stdin is not None
        with suppress(BrokenPipeError):
            self._process.stdin.close()
        try:
            code = self._process.wait(LEAVE_S)
        except subprocess.TimeoutExpired:
            raise self._broken(f"it was still there {LEAVE_S} s after its standard input had ended") from None
        if code and self.ended is None:
            raise self._broken(f"it {how_ended(code)} after its standard input had ended")

    def _read(self) -> bool | Failed:
        """Takes the records that have come; True where there are no more to come, or the last one has the reason."""
        assert self._process.stdout is not None
        while True:
            try:
                part = os.read(self._process.stdout.fileno(), 1 << 20)
            except BlockingIOError:
                return False
            if not part:
                return True
            self._buffer += part
            *lines, rest = self._buffer.split(b"\n")
            self._buffer = bytearray(rest)
            if len(rest) > LONGEST_LINE_BYTES:
                raise self._broken(f"it printed {mebibytes(LONGEST_LINE_BYTES)} without a line end")
            for line in lines:
                try:
                    record = self._records.decode(bytes(line))
                except msgspec.DecodeError as error:
                    words = bytes(line[:80]).decode(errors="replace")
                    raise self._broken(f"`{words}` is not a record of `follow` ({error})") from error
                if isinstance(record, Failed):
                    return record
                self._take(record)

    def _take(self, record: Ready | Block) -> None:
        if isinstance(record, Block):
            if self.ready is None:
                raise self._broken("its first record must be `ready`")
            self.decoded.append(record)
            return
        if self.ready is not None:
            raise self._broken("`ready` came twice")
        if not self._began <= record.at_ns <= time.monotonic_ns():
            raise self._broken("its `ready` has a time outside of its life: `at_ns` must be CLOCK_MONOTONIC")
        self.ready = record
        assert self._process.stdin is not None
        with suppress(BrokenPipeError):
            self._process.stdin.write(b"\n")
            self._process.stdin.flush()

    def _check(self) -> None:
        """Holds what the client has done with against what the node announced to it."""
        for block, announced in zip(self.decoded[self._checked :], self.announced[self._checked :], strict=False):
            self._checked += 1
            name = f"block {announced.slot}.{announced.hash}"
            if not announced.arrived_ns <= block.at_ns <= time.monotonic_ns():
                raise self._broken(
                    f"its time of {name} isn't between the arrival of its last byte and now: `at_ns` must be CLOCK_MONOTONIC, taken when the block is done with"
                )
            if self.program.name == FLOOR:
                continue
            if (block.slot, block.hash) not in ((None, None), (announced.slot, announced.hash)):
                raise ProofError(
                    f"{self}: reports block {block.slot}.{block.hash} where the node sent {name}. No figure of it was kept."
                )
            if block.digest != announced.digest:
                raise ProofError(
                    f"{self}: its digest is not that of the blocks it was given: {name} is the first that differs. No figure of it was kept."
                )

    def _broken(self, what: str) -> TargetError:
        return TargetError(f"{self}: broke the contract of docs/targets.md: {what}.{printed_last(self._stderr)}")
