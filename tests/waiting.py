"""Waiting in tests: for conditions, and for the ends of processes."""

import time
from collections.abc import Callable
from pathlib import Path


def until(condition: Callable[[], object], within_s: float = 60) -> None:
    """Waits until a condition holds."""
    end = time.monotonic() + within_s
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.02)


def is_running(pid: int) -> bool:
    """Returns whether a process is there that hasn't ended: one that its parent has yet to see has."""
    try:
        return Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False
