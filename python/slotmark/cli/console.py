"""Where words go: results to standard output, progress and remarks to standard error."""

import os
import sys
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


@contextmanager
def progress(unit: str) -> Iterator[Callable[[int, int, str], None]]:
    """A progress bar on standard error with the time left.

    Yields:
        Called with how much is done, of how much, and what is being done now.
    """
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
