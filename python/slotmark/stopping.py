"""Signals that stop a process, where what their handler raises would do harm: they are sent again a moment later."""

import os
import signal
import threading
from types import FrameType

AGAIN_S = 0.01

_UNBROKEN = "duckdb"
"""The library that aborts the process (``Critical nanobind error``) where anything is raised while it is loaded."""


def put_off(number: int, frame: FrameType | None) -> bool:
    """Sends a signal again where it came while DuckDB is loaded. Returns whether it does.

    Args:
        number: The signal.
        frame: The place where it came, as handlers get it.
    """
    while frame is not None:
        if frame.f_code.co_name == "<module>" and frame.f_globals.get("__name__") == _UNBROKEN:
            send_again(number)
            return True
        frame = frame.f_back
    return False


def send_again(number: int) -> None:
    """Sends a signal to this process in 10 ms."""
    threading.Timer(AGAIN_S, os.kill, (os.getpid(), signal.Signals(number))).start()


def stop_once(number: int, frame: FrameType | None) -> None:
    """A handler of a signal that stops a process: a second one must not stop the tidying up.

    Raises:
        KeyboardInterrupt: Unless the signal is put off.
    """
    if put_off(number, frame):
        return
    signal.signal(number, signal.SIG_IGN)
    raise KeyboardInterrupt
