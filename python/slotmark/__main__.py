"""The command `slotmark`, also `python -m slotmark`: how its process begins, and how it ends when it is stopped."""

import atexit
import os
import signal
import sys
from contextlib import suppress
from types import FrameType
from typing import NoReturn

from slotmark.addresses import addresses_are_limited
from slotmark.stopping import put_off, send_again
from slotmark.threads import threads_left, threads_needed

STOPS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
"""Signals that end a command: what it began is undone, what it started is ended."""

LEAST_BYTES = 512 << 20
"""Bytes of addresses that loading any command takes at most."""

FAULT = 70
"""The exit code of an error that nobody thought of, as EX_SOFTWARE of sysexits.h."""

_NO_MEMORY = ("can't start new thread", "failed to map segment from shared object")
"""Parts of errors of Python and the loader where memory is short and they raise no MemoryError."""

_INTERRUPTED = "Query interrupted"
"""The RuntimeError that DuckDB raises in the place of what a signal's handler raises while a statement runs."""


class _WithoutPandas:
    """A finder of modules that finds no pandas.

    Arrow loads it, where it is installed, to see that an array is none of its own: a third of a second of each command.
    """

    @staticmethod
    def find_spec(name: str, _path: object = None, _target: object = None) -> None:
        """Raises ModuleNotFoundError for pandas, and leaves other modules to others."""
        if name == "pandas":
            raise ModuleNotFoundError("commands do without pandas", name=name)


class Stopped(KeyboardInterrupt):
    """A signal came.

    It is a type of its own because Python, started with ``-m``, ends by SIGINT, whatever exit code is asked for, once a
    KeyboardInterrupt itself has left code that was given as text to ``exec``, as libraries do while they are imported.
    """


def main() -> None:
    """Runs the command line; exits 130 for Ctrl-C, 143 for SIGTERM, 129 for SIGHUP, 2 where memory or threads are short, 70 for a fault of its own, from the first moment on.

    A signal that comes when the command is over changes nothing; a second one ends what is left of the process.
    """
    by = [signal.SIGINT]
    is_over = False

    def stop(number: int, frame: FrameType | None) -> None:
        if is_over:
            signal.signal(number, signal.SIG_DFL)
            return
        if put_off(number, frame):
            return
        if number != signal.SIGINT:
            signal.signal(number, signal.SIG_IGN)  # a second one must not stop the tidying up
        by[0] = signal.Signals(number)
        raise Stopped

    usual = sys.unraisablehook

    def dropped(found: "sys.UnraisableHookArgs") -> None:
        if found.exc_type is not Stopped:
            usual(found)
            return
        # It came while an object was removed, where Python drops exceptions: the signal is sent again when that is over.
        signal.signal(by[0], stop)
        send_again(by[0])

    sys.unraisablehook = dropped
    _open_closed_streams()
    try:
        try:
            for number in STOPS:
                if signal.getsignal(number) is not signal.SIG_IGN:  # as nohup leaves it
                    signal.signal(number, stop)
            _run()
        finally:
            is_over = True
    except (KeyboardInterrupt, Exception) as error:
        is_over = True
        if isinstance(error, KeyboardInterrupt) or str(error) == _INTERRUPTED:
            sys.stderr.write("slotmark: interrupted; nothing was left half-written.\n")
            sys.exit(128 + by[0])
        is_short = isinstance(error, (RuntimeError, ImportError)) and any(words in str(error) for words in _NO_MEMORY)
        is_short |= isinstance(error, MemoryError)
        if not is_short or "--debug" in sys.argv:
            sys.excepthook(type(error), error, error.__traceback__)
        if is_short:
            sys.stderr.write(
                "slotmark: there is not enough memory. End other programs, or raise the limit of this one (`ulimit -v`, or its container's).\n"
            )
            _end(2)
        # Python's own exit code would be 1, which is that of HOLD.
        sys.stderr.write("slotmark: this is a fault of slotmark. Report it with the lines above.\n")
        sys.exit(FAULT)


def _end(code: int) -> NoReturn:
    """Ends the process with all that is registered for its end, but removes no objects: where memory is short, libraries crash in that."""
    atexit._run_exitfuncs()
    for stream in (sys.stdout, sys.stderr):
        with suppress(OSError, ValueError):
            stream.flush()
    os._exit(code)


def _open_closed_streams() -> None:
    """Opens the null device for each standard stream that is closed, as by ``>&-``: the next file would have its number, and Python has no stream."""
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            stream = open(os.devnull, mode, encoding="utf-8")  # noqa: PTH123, SIM115 - open until the process ends
            os.set_inheritable(stream.fileno(), True)
            setattr(sys, name, stream)


def _run() -> None:
    # Read when Arrow is loaded: its own pool keeps for each thread what that freed, and reserves 1 GiB of addresses. It has an allocator that starts
    # a thread, and prints a line where it can't.
    os.environ["ARROW_DEFAULT_MEMORY_POOL"] = "system"
    os.environ["JE_ARROW_MALLOC_CONF"] = "background_thread:false"
    sys.meta_path.insert(0, _WithoutPandas)
    try:
        addresses_are_limited(LEAST_BYTES)
        if (left := threads_left(needed := threads_needed())) < needed:
            sys.stderr.write(
                f"slotmark: this process can start {left} threads and processes, and needs {needed}. "
                "Raise the limit (`ulimit -u`, or its container's).\n"
            )
            sys.exit(2)
        addresses_are_limited(
            LEAST_BYTES
        )  # threads that were tried may have left less: the C library reserves 64 MiB for some
        from slotmark.cli import main as command  # noqa: PLC0415 - most of a command's first moments are this import

        command()
    finally:
        sys.meta_path.remove(_WithoutPandas)


if __name__ == "__main__":
    main()
