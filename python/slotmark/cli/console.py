"""Where words go: results to standard output, progress and remarks to standard error."""

import os
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

_CONTROL = dict.fromkeys((*range(9), *range(11, 32), *range(127, 160)), "\N{REPLACEMENT CHARACTER}")
"""What a name from a stranger's log or run could steer a terminal with."""


def harmless(text: str) -> str:
    """The text without control characters, tabs and line ends aside."""
    return text.translate(_CONTROL)


class _Talk(Console):
    """A console for remarks: their text is never markup and never steers the terminal."""

    def remark(self, text: str) -> None:
        """Prints a line."""
        self.print(harmless(text), markup=False, emoji=False)


talk = _Talk(stderr=True, highlight=False, soft_wrap=True)
"""Standard error."""


LINE_EVERY_S = 5
"""Time between two lines of progress: short work prints none."""


class ProgressLines:
    """Progress as lines, as a log of a continuous integration shows them.

    Args:
        unit: Of what is counted.
        say: Prints a line.
        clock: Seconds that never go back.
    """

    def __init__(self, unit: str, say: Callable[[str], None], clock: Callable[[], float] = time.monotonic) -> None:
        self._unit, self._say, self._clock = unit, say, clock
        self._begin = self._last = clock()
        self._first: int | None = None

    def step(self, done: int, total: int, label: str) -> None:
        """Takes how much is done, of how much, and what is being done now; prints a line where the last was long ago."""
        now = self._clock()
        if self._first is None or done < self._first:
            self._begin, self._first = now, done
        if now - self._last < LINE_EVERY_S:
            return
        self._last = now
        made = done - self._first
        left = f", about {duration((now - self._begin) * (total - done) / made)} left" if made and total > done else ""
        self._say(f"{label}: {done:,} of {total:,} {self._unit}{left}")


def duration(seconds: float) -> str:
    """A time to wait, in words: ``8 s``, ``3 min``, ``2.5 h``."""
    if seconds < 100:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 6_000 else f"{seconds / 3600:.1f} h"


@contextmanager
def progress(unit: str) -> Iterator[Callable[[int, int, str], None]]:
    """Progress on standard error with the time left: a bar, or where that is no terminal a line every few seconds.

    Yields:
        Called with how much is done, of how much, and what is being done now.
    """
    if not talk.is_terminal:
        yield ProgressLines(unit, talk.remark).step
        return
    columns = [
        TextColumn("{task.description}", markup=False),
        BarColumn(bar_width=24),
        MofNCompleteColumn(),
        TextColumn(unit, markup=False),
    ]
    with Progress(*columns, TimeRemainingColumn(), console=talk, transient=True) as bar:
        task = bar.add_task("", total=None)
        yield lambda done, total, label: bar.update(task, completed=done, total=total, description=harmless(label))


@contextmanager
def reader_may_leave() -> Iterator[None]:
    """What is printed inside may find nobody who reads: then the rest goes nowhere, and the command goes on to its end."""
    try:
        yield
        sys.stdout.flush()
    except BrokenPipeError:
        forget_reader()


def forget_reader() -> None:
    """Lets all that is still printed go nowhere."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
