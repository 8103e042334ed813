"""The result of an input, and the ways in which a command may end."""

import os
import random
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from threading import Thread
from typing import IO, NamedTuple

import msgspec

REFUSED = 2
"""The exit code for bad input."""
STOPPED = {signal.SIGTERM: 143, signal.SIGHUP: 129, signal.SIGKILL: -signal.SIGKILL}
"""Exit codes of a command that a signal stopped."""
TIMEOUT_S = 120
"""The seconds after which a command that has not ended is ended."""


class Tried(NamedTuple):
    """A number of inputs, and what went wrong with those that failed."""

    inputs: int
    failures: Sequence[str] = ()


class Ended(msgspec.Struct, frozen=True):
    """A command that has ended.

    Attributes:
        code: Its exit code; negative for the signal that killed it.
        out: What it wrote to standard output.
        said: What it wrote to standard error.
        peak_bytes: Its largest resident set.
    """

    code: int
    out: bytes
    said: str
    peak_bytes: int

    def wrong(self, *codes: int) -> str:
        """Returns the fault in how it ended, where it may end with these codes; empty where there is none.

        A command that refuses its input writes this in one line; none has a traceback, whatever it does.
        """
        lines = self.said.strip().splitlines()
        if wrong := self.crash(*codes):
            return wrong
        if self.code == REFUSED and sum(line.startswith("slotmark: ") for line in lines) != 1:
            return f"refused in {len(lines)} lines: {self.said!r}"
        return ""

    def crash(self, *codes: int) -> str:
        """Returns the fault in the end of a command that may have more than one thing to refuse; empty where there is none."""
        lines = self.said.strip().splitlines()
        if self.code == -signal.SIGALRM:
            return "hangs"
        if "Traceback" in self.said or "panicked" in self.said:
            return f"a traceback: {lines[-1] if lines else ''}"
        if self.code not in codes:
            return f"exit code {self.code}: {lines[-1] if lines else 'no output'}"
        return ""


def command(*arguments: str | Path, into: Path, variables: Mapping[str, str] = {}, **limits: int) -> Ended:
    """Runs a slotmark command to its end, in this folder; ``file_bytes`` limits each file that it writes."""

    def limit() -> None:
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        if "file_bytes" in limits:
            resource.setrlimit(resource.RLIMIT_FSIZE, (limits["file_bytes"], limits["file_bytes"]))

    # Through pipes: a limit on files would be one on its output too.
    process = subprocess.Popen(
        slotmark(*arguments),
        cwd=into,
        env=environment(into, **variables),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        preexec_fn=limit,  # noqa: PLW1509 - no threads
    )
    assert process.stdout is not None
    assert process.stderr is not None
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as said:
        copies = [
            Thread(target=shutil.copyfileobj, args=pair) for pair in ((process.stdout, out), (process.stderr, said))
        ]
        for copy in copies:
            copy.start()
        done = ended(process)
        for copy in copies:
            copy.join()
        out.flush()
        said.flush()
        return msgspec.structs.replace(done, out=written(out), said=written(said).decode(errors="replace"))


def slotmark(*arguments: str | Path) -> list[str]:
    """The command line of the slotmark that is installed here."""
    return [sys.executable, "-B", "-m", "slotmark", *map(str, arguments)]


def environment(folder: Path, **more: str) -> Mapping[str, str]:
    """The environment, with temporary files in this folder, so that what is left there is found."""
    return {**os.environ, "TMPDIR": str(folder), **more}


def written(file: IO[bytes]) -> bytes:
    """Returns the content of a temporary file, from its beginning."""
    return os.pread(file.fileno(), 1 << 28, 0)


def ended(process: "subprocess.Popen[bytes]", timeout_s: float = TIMEOUT_S) -> Ended:
    """Waits for a process, without what it wrote; one that doesn't end in time is killed."""
    until = time.monotonic() + timeout_s
    while True:
        pid, status, used = os.wait4(process.pid, os.WNOHANG)
        if pid:
            break
        if time.monotonic() > until:
            os.kill(process.pid, signal.SIGKILL)
        time.sleep(0.005)
    process.returncode = os.waitstatus_to_exitcode(status)
    return Ended(process.returncode, b"", "", used.ru_maxrss * 1024)


def chances(seed: int, attack: str, tries: int) -> Iterator[random.Random]:
    """A source of chance for each try of an attack, so that each can be repeated alone."""
    for number in range(tries):
        yield random.Random(f"{attack} {seed} {number}")
