"""Telling a command that hangs from one that is slow: by what its processes did and by how long they waited for a processor, not by the clock on the wall."""

import os
import secrets
import signal
import subprocess
import tempfile
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from attack.kills import MARK, lives_on, marked
from attack.outcome import Ended, environment, slotmark, written

LOOK_S = 0.02


class Patience(NamedTuple):
    """The limits of a command: how long it may do nothing, and how much it may do.

    Attributes:
        idle_s: Of time in which none of its processes runs, waits for a processor or for a disk, in all.
        busy_s: Of processor time, of all its processes.
    """

    idle_s: float = 60
    busy_s: float = 240


USUAL = Patience()


class Watched(NamedTuple):
    """A command that has ended.

    Attributes:
        done: How it ended.
        hangs: Why it was ended from here, in words; empty where it ended by itself or by the signal.
        left: What it started and that lives on, in words; empty where nothing does.
    """

    done: Ended
    hangs: str
    left: str

    def wrong(self, *codes: int) -> str:
        """Returns the fault in its end, as of :meth:`Ended.wrong`, or in the files that it left."""
        return self.hangs or self.done.wrong(*codes) or self.left


def watched(
    *arguments: str | Path,
    into: Path,
    temporary: Path,
    variables: Mapping[str, str] = {},
    patience: Patience = USUAL,
    look: Callable[["subprocess.Popen[bytes]"], None] = lambda _: None,
) -> Watched:
    """Runs a slotmark command until it ends, or has done nothing for too long, or too much.

    Args:
        arguments: Of the command.
        into: Its folder.
        temporary: Where its temporary files are.
        variables: Beside the usual ones.
        patience: What it may take.
        look: Called with its process again and again while it runs.
    """
    mark = secrets.token_hex(8)
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as said:
        process = subprocess.Popen(
            slotmark(*arguments),
            cwd=into,
            env=environment(temporary, **{MARK: mark}, **variables),
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=said,
        )
        hangs, peak = _followed(process, mark, patience, look)
        left = lives_on(mark)
        done = Ended(process.returncode, written(out), written(said).decode(errors="replace"), peak)
    return Watched(done, hangs, left)


def _followed(
    process: "subprocess.Popen[bytes]",
    mark: str,
    patience: Patience,
    look: Callable[["subprocess.Popen[bytes]"], None],
) -> tuple[str, int]:
    """Waits for the end; why it was ended from here, and the largest resident set of the process."""
    idle_s, last, before, next_look = 0.0, time.monotonic(), {}, 0.0
    while True:
        pid, status, used = os.wait4(process.pid, os.WNOHANG)
        if pid:
            process.returncode = os.waitstatus_to_exitcode(status)
            return "", used.ru_maxrss * 1024
        look(process)
        now = time.monotonic()
        if now > next_look:
            next_look = now + 0.5
            ids = {process.pid, *marked(mark)}
            does = {pid: one for pid in ids if (one := _does(pid)) is not None}
            worked_s = sum(max(0.0, one.active_s - before[pid].active_s) for pid, one in does.items() if pid in before)
            new = any(pid not in before for pid in does)
            if not new and not any(one.on_disk for one in does.values()):
                idle_s += max(0.0, now - last - worked_s)
            busy_s = sum(one.busy_s for one in does.values())
            last, before = now, does
            for too_long, words in (
                (idle_s > patience.idle_s, f"hangs: {idle_s:.0f} s without work"),
                (busy_s > patience.busy_s, f"works without end: {busy_s:.0f} s of processor time"),
            ):
                if too_long:
                    with suppress(ProcessLookupError):
                        os.kill(process.pid, signal.SIGKILL)
                    _, status, used = os.wait4(process.pid, 0)
                    process.returncode = os.waitstatus_to_exitcode(status)
                    return words, used.ru_maxrss * 1024
        time.sleep(LOOK_S)


class _Does(NamedTuple):
    """The work of a process so far: how long it ran or waited for a processor, its processor time with that of children that ended, and whether it waits for a disk."""

    active_s: float
    busy_s: float
    on_disk: bool


def _does(pid: int) -> _Does | None:
    """None where it has ended."""
    active_ns = 0
    try:
        for thread in Path(f"/proc/{pid}/task").iterdir():
            with suppress(OSError):
                ran, waited, _ = (thread / "schedstat").read_text().split()
                active_ns += int(ran) + int(waited)
        fields = Path(f"/proc/{pid}/stat").read_text(errors="replace").rpartition(")")[2].split()
    except OSError:
        return None
    ticks = sum(map(int, fields[11:15])) / os.sysconf("SC_CLK_TCK")
    return _Does(active_ns / 1e9, ticks, fields[0] == "D")
