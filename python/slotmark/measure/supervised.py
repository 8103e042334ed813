"""A process that answers at the end of a pipe, and ends with the process that started it, with all that it has started itself.

It isn't in reach of whoever ends the other's process group, session or children, as Ray does: between the two is a shell that waits. It ends by the first of:
the kernel's signal that this shell has ended; the end of the pipe, which only its starter holds; being asked to. Then it kills all of its descendants, those in sessions of their own too: as long as it lives the kernel makes it
the parent of what loses its own.

``python -m slotmark.measure.supervised PIPE MODULE FUNCTION PARENT`` is that process.
"""

import ctypes
import importlib
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from multiprocessing.connection import Connection
from select import POLLHUP, poll
from types import FrameType

from slotmark.measure.process import adopt_orphans, end_children
from slotmark.stopping import stop_once

_PR_SET_PDEATHSIG = 1
"""See prctl(2)."""

_TIDYING_S = 20.0
"""Time that the function has, once it is told to end, before all is killed without it."""


_SHELL = '"$@" $$ & wait'


class Supervised:
    """The process, from its start to its end.

    Args:
        serve: A function of a module, which gets the process's end of the pipe and returns when that is at its end. It must be started by a thread that
            lives as long as this process should.

    Attributes:
        pipe: This process's end of the pipe.
        pid: The id of the shell between the two.
    """

    def __init__(self, serve: Callable[[Connection], None]) -> None:
        ours, theirs = socket.socketpair()
        with theirs:
            self._process = subprocess.Popen(
                [
                    "/bin/sh",
                    "-c",
                    _SHELL,
                    "sh",
                    sys.executable,
                    "-m",
                    __name__,
                    str(theirs.fileno()),
                    serve.__module__,
                    serve.__name__,
                ],
                pass_fds=[theirs.fileno()],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                start_new_session=True,
            )
        self.pipe = Connection(ours.detach())
        self.pid = self._process.pid

    def stop(self, within_s: float = 2 * _TIDYING_S) -> None:
        """Closes the pipe, and waits for the end; kills the process where that takes longer."""
        self.pipe.close()
        try:
            self._process.wait(within_s)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()


def _let_be(_number: int, _frame: FrameType | None) -> None:
    """Ignores a signal; processes that are started don't, as they would if it were ignored by the kernel."""


def _end_with_pipe(pipe: int) -> None:
    """Waits for the end of the pipe; has the function stop then, and after a time ends all without it."""
    waiting = poll()
    waiting.register(pipe, POLLHUP)
    waiting.poll()
    os.kill(os.getpid(), signal.SIGTERM)
    time.sleep(_TIDYING_S)
    end_children()
    os._exit(1)


def main(arguments: list[str]) -> None:
    """Serves, until the pipe or its starter ends."""
    pipe, module, function, parent = arguments
    signal.pthread_sigmask(
        signal.SIG_SETMASK, ()
    )  # Ray's processes have SIGINT blocked, and so would all that is started here
    for number in (signal.SIGINT, signal.SIGQUIT):  # a shell has those that it doesn't wait for ignore them
        signal.signal(number, _let_be)
    signal.signal(signal.SIGTERM, stop_once)
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGTERM, 0, 0, 0)
    adopt_orphans(on=True)
    try:
        with suppress(KeyboardInterrupt):  # there is one at most
            with suppress(KeyboardInterrupt, EOFError, OSError):
                if os.getppid() == int(parent):  # else it ended before the kernel was asked
                    threading.Thread(target=_end_with_pipe, args=(int(pipe),), daemon=True).start()
                    getattr(importlib.import_module(module), function)(Connection(int(pipe)))
            signal.signal(signal.SIGTERM, signal.SIG_IGN)
    finally:
        end_children()
    os._exit(0)  # threads of others may still wait


if __name__ == "__main__":
    main(sys.argv[1:])
