"""Output: results to standard output, progress and remarks to standard error."""

import codecs
import io
import os
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from functools import cached_property
from typing import TYPE_CHECKING

from slotmark.cleaning import one_line
from slotmark.numbers import duration

if TYPE_CHECKING:
    from rich.console import Console, RenderableType

    from slotmark.warnings import Warning

LINE_EVERY_S = 5
"""Time between two lines of progress: short work prints none."""

MOST_WIDTH = 200
"""Columns on which every table has room for its words."""


def print_table(table: "RenderableType", *, errors: bool = False) -> None:
    """Prints a table of text, without markup, on standard output or standard error; as comparisons, on 40 columns at least, and on as many as its words need."""
    from rich.console import Console
    from rich.measure import Measurement

    from slotmark.report.renderers.terminal import LEAST_WIDTH

    console = Console(highlight=False, markup=False, stderr=errors)
    needed = Measurement.get(console, console.options.update(width=MOST_WIDTH), table).minimum
    console.width = max(console.width, LEAST_WIDTH, needed)
    console.print(table)


class Talk:
    """Standard error for remarks: their text is never markup and never steers the terminal."""

    @cached_property
    def console(self) -> "Console":
        """Made for the first line: a command that prints its help needs none."""
        from rich.console import Console

        return Console(stderr=True, highlight=False, soft_wrap=True)

    def remark(self, text: str) -> None:
        """Prints a line."""
        self.console.print(one_line(text), markup=False, emoji=False)

    def warnings(self, found: Iterable["Warning"]) -> None:
        """Prints a line for each warning about a run, with what it is about."""
        for warning in found:
            self.remark(f"! {warning.subject + ': ' if warning.subject else ''}{warning.text}")

    @contextmanager
    def doing(self) -> Iterator[Callable[[str], None]]:
        """Shows the present step where the amount of work is unknown: in one line that changes, or as :class:`ProgressLines`.

        Yields:
            Called with what is being done now.
        """
        if not self.console.is_terminal:
            last = time.monotonic()

            def line(text: str) -> None:
                nonlocal last
                if time.monotonic() - last >= LINE_EVERY_S:
                    last = time.monotonic()
                    self.remark(text)

            yield line
            return
        from rich.text import Text

        with self.console.status("") as status:
            yield lambda text: status.update(Text(one_line(text)))


talk = Talk()
"""Standard error."""


class ProgressLines:
    """Progress as lines, as a log of a continuous integration shows them.

    Args:
        unit: Unit of the count.
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


@contextmanager
def progress(unit: str) -> Iterator[Callable[[int, int, str], None]]:
    """Progress on standard error with the time left: a bar, or where that is no terminal a line every few seconds.

    Yields:
        Called with how much is done, of how much, and what is being done now.
    """
    if not talk.console.is_terminal:
        yield ProgressLines(unit, talk.remark).step
        return
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        TextColumn,
        TimeRemainingColumn,
    )

    columns = [
        TextColumn("{task.description}", markup=False),
        BarColumn(bar_width=24),
        MofNCompleteColumn(),
        TextColumn(unit, markup=False),
    ]
    with Progress(*columns, TimeRemainingColumn(), console=talk.console, transient=True) as bar:
        task = bar.add_task("", total=None)
        yield lambda done, total, label: bar.update(task, completed=done, total=total, description=one_line(label))


PLAIN = {
    "▲": "^",
    "▼": "v",
    "×": "x",
    "±": "+-",
    "…": "...",
    "·": ".",
    "–": "-",
    "→": "->",
    "µ": "u",
    **dict(zip("▁▂▃▄▅▆▇█", "_.:-=+*#", strict=True)),
    "\N{REPLACEMENT CHARACTER}": "?",
}
"""Replacements of signs that slotmark prints, where the encoding of the output doesn't have them."""


def print_what_the_encoding_has() -> None:
    """Lets standard output and standard error take any text: what their encoding hasn't becomes :data:`PLAIN`, or an escape."""

    def plain(error: UnicodeError) -> tuple[str, int]:
        if not isinstance(error, UnicodeEncodeError):
            raise error
        signs = error.object[error.start : error.end]
        shown = (PLAIN.get(sign) or sign.encode("ascii", "backslashreplace").decode() for sign in signs)
        return "".join(shown), error.end

    codecs.register_error("slotmark", plain)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="slotmark")


@contextmanager
def reader_may_leave() -> Iterator[None]:
    """Lets the reader of the output leave: then the rest goes nowhere, and the command goes on to its end."""
    try:
        yield
        sys.stdout.flush()
    except BrokenPipeError:
        forget_reader()


def forget_reader() -> None:
    """Lets all that is still printed go nowhere."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
