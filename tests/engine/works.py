"""Works of pieces: what the processes of tests import."""

import os
import signal
import time
from pathlib import Path

import msgspec

from slotmark.engine import Progress
from slotmark.errors import RunError


class Found(msgspec.Struct, frozen=True):
    """The output of a work."""

    number: int
    share: float
    by: int


def squared(number: int, wait_s: float, progress: Progress) -> Found:
    """Takes its time, so that pieces finish in the order of their waits."""
    progress(0, 10)
    time.sleep(wait_s)
    progress(10, 10)
    return Found(number**2, number / 7, os.getpid())


def wrong(number: int, kind: str, folder: str) -> int:
    """Goes wrong at number 1, in the way that is asked for; the others go on for a minute."""
    if number != 1:
        return busy(number, folder)
    while not list(Path(folder).glob("begun-*")):
        time.sleep(0.01)
    if kind == "user":
        raise RunError("this.toml: not so. Mend it.")
    if kind == "killed":
        os.kill(os.getpid(), signal.SIGKILL)
    if kind == "odd":
        raise _OddError(1, 2)
    raise ZeroDivisionError("a fault")


def busy(number: int, folder: str) -> int:
    """Computes for a minute without a word of progress; removes what it began however it ends, and leaves a file where it finished."""
    begun = Path(folder) / f"begun-{number}"
    begun.with_suffix(".partial").write_text(str(os.getpid()))
    try:
        begun.with_suffix(".partial").rename(begun)
        until = time.monotonic() + 60
        while time.monotonic() < until:
            sum(range(10_000))
        (Path(folder) / f"finished-{number}").touch()
    finally:
        begun.unlink()
    return number


def killed_at_first(number: int, folder: str) -> int:
    """Loses its process in the middle of number 1, and is done the next time."""
    once = Path(folder) / "killed"
    if number == 1 and not once.exists():
        once.touch()
        os.kill(os.getpid(), signal.SIGKILL)
    return number


def nothing(number: int, _folder: str) -> int:
    """Is done at once."""
    return number


def held(number: int, folder: str) -> int:
    """Notes that it has begun, and waits until it may go on; number 0 may at once."""
    (Path(folder) / f"begun-{number}-{os.getpid()}").touch()
    until = time.monotonic() + 300
    while number and not (Path(folder) / "go").exists() and time.monotonic() < until:
        time.sleep(0.02)
    return number


def filling(number: int, folder: str) -> int:
    """Takes 4 GiB of memory, step by step, and waits with it until it may go on; number 0 takes none."""
    (Path(folder) / f"begun-{number}-{os.getpid()}").touch()
    taken = []
    until = time.monotonic() + 60
    while number and not (Path(folder) / "go").exists() and time.monotonic() < until:
        if len(taken) < 64:
            taken.append(bytearray(os.urandom(1 << 16) * (1 << 10)))
        time.sleep(0.02)
    return number


class _OddError(Exception):
    """One that can't be made again from what it has."""

    def __init__(self, one: int, two: int) -> None:
        super().__init__(f"{one} and {two}")


def filled(number: int, *, wait_s: float = 0, folder: Path) -> int:
    """Makes two files."""
    time.sleep(wait_s)
    folder.mkdir(parents=True, exist_ok=True)
    for name in "ab":
        (folder / f"{number}-{name}.bin").write_bytes(f"{number}{name}".encode() * 1000)
    return number**2
