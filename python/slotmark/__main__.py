"""The command `slotmark`, also `python -m slotmark`: how its process begins, and how it ends when it is stopped."""

import signal
import sys
from types import FrameType

STOPS = (signal.SIGTERM, signal.SIGHUP)
"""Signals that end a command as Ctrl-C does: what it began is undone, what it started is ended."""


def main() -> None:
    """Runs the command line; exits 130 for Ctrl-C, 143 for SIGTERM, 129 for SIGHUP, from the first moment on."""
    by = [signal.SIGINT]

    def stop(number: int, _frame: FrameType | None) -> None:
        signal.signal(number, signal.SIG_IGN)  # a second one must not stop the tidying up
        by[0] = signal.Signals(number)
        raise KeyboardInterrupt

    for number in STOPS:
        if signal.getsignal(number) is not signal.SIG_IGN:  # as nohup leaves it
            signal.signal(number, stop)
    try:
        from slotmark.cli import main as command  # noqa: PLC0415 - most of a command's first moments are this import

        command()
    except KeyboardInterrupt:
        sys.stderr.write("slotmark: interrupted; nothing was left half-written.\n")
        sys.exit(128 + by[0])


if __name__ == "__main__":
    main()
