"""Limits on threads and processes, as `ulimit -u` or a container sets them: compiled libraries panic, hang or name something else where they get none, so room is asked for first."""

import _thread
import threading
from collections.abc import Callable

from slotmark.cores import usable_cores

_STACK_BYTES = 64 << 10
"""Bytes of addresses for each thread that is only tried."""


def threads_needed() -> int:
    """Returns the number of threads and processes that any command takes at most beside its first, on this machine."""
    return 24 + 8 * usable_cores()


def threads_left(most: int) -> int:
    """Returns the number of threads, up to this, that this process can start now."""
    held, ended, begun = _thread.allocate_lock(), threading.Semaphore(0), 0
    usual = threading.stack_size(_STACK_BYTES)
    held.acquire()
    try:
        while begun < most:
            _thread.start_new_thread(_wait, (held, ended.release))
            begun += 1
    except RuntimeError:
        pass
    finally:
        threading.stack_size(usual)
        held.release()
        for _ in range(begun):
            ended.acquire()
    return begun


def _wait(held: "_thread.LockType", asked: Callable[[], None]) -> None:
    with held:
        pass
    asked()
