"""Documents for a terminal."""

from collections.abc import Iterator, Sequence
from itertools import takewhile

from rich import box
from rich.console import Console
from rich.table import Table as RichTable
from rich.text import Text

from slotmark.report.document import Block, Document, Doubts, Facts, Paragraph, Table
from slotmark.report.renderers.columns import longest_word, spread
from slotmark.report.renderers.printable import printable_document

GAP = 3
"""Letters between two columns."""

STYLES = {"better": "bold green", "worse": "bold red", "equivalent": "cyan", "inconclusive": "yellow", None: ""}


class _Terminal(Console):
    """A console whose reader may leave: who prints decides what that means."""

    def on_broken_pipe(self) -> None:
        raise BrokenPipeError


def print_document(document: Document, console: Console | None = None) -> None:
    """Prints the brief sections of a document; the rest is for files. BrokenPipeError where nobody reads any more."""
    console = console or _Terminal(highlight=False)
    document = printable_document(document)
    console.print(Text(document.title, style="bold"))
    if document.subtitle:
        console.print(Text(document.subtitle, style="dim"))
    for section in document.sections:
        if section.brief:
            for block in section.blocks:
                _print(block, console)


def _print(block: Block, console: Console) -> None:
    match block:
        case Paragraph(text, verdict):
            console.print(Text(text, style=STYLES[verdict]))
        case Table(wide=False):
            for part in _parts(block, console.width):
                console.print()
                console.print(part)
            for note in block.notes:
                console.print(Text(note, style="dim"))
            told = [reason for verdict, reason in block.reasons if verdict != "equivalent"]
            if len(told) < len(block.reasons):
                told.append("= equivalent: the whole interval lies within the margin of the row.")
            for reason in told:
                console.print(Text(reason, style="dim"))
        case Doubts(warnings):
            console.print()
            for warning in warnings:
                about = f"{warning.subject}: " if warning.subject else ""
                console.print(Text.assemble(("! ", "bold yellow"), (about, "bold"), warning.text))
        case Facts(wide=False):
            for name, value in block.facts:
                console.print(Text.assemble((f"{name}: ", "bold"), value))
        case _:
            pass


def _parts(table: Table, width: int) -> Iterator[RichTable]:
    """The table; where its words need more than the width, several that each begin with its labels and go on with some columns."""
    kept = [place for place, column in enumerate(table.columns) if not column.detail]
    texts = {place: [table.columns[place].title, *(row[place].text for row in table.rows)] for place in kept}
    verdicts = {
        place: max((len(row[place].text) for row in table.rows if row[place].verdict), default=0) for place in kept
    }
    least = {place: max(verdicts[place], *map(longest_word, texts[place])) for place in kept}
    labels = list(takewhile(lambda place: table.columns[place].align == "left", kept))
    if len(labels) == len(kept):
        labels = labels[:1]
    parts = [labels]
    for place in kept[len(labels) :]:
        if parts[-1] != labels and sum(least[one] for one in (*parts[-1], place)) > _room(width, len(parts[-1]) + 1):
            parts.append(labels)
        parts[-1] = [*parts[-1], place]
    for number, part in enumerate(parts):
        most = [max(map(len, texts[place])) for place in part]
        line = min(sum(most), _room(width, len(part)))
        widths = [int(one) for one in spread([least[place] for place in part], most, line)]
        yield _table(table, ", continued" if number else "", part, widths)


def _room(width: int, columns: int) -> int:
    """Letters for text in a line of so many columns."""
    return width - 2 - GAP * (columns - 1)


def _table(table: Table, suffix: str, places: Sequence[int], widths: Sequence[int]) -> RichTable:
    title = Text(f"{table.title}{suffix}", style="bold")
    shown = RichTable(title=title, title_justify="left", box=box.SIMPLE_HEAD, pad_edge=False, padding=(0, 1))
    for place, width in zip(places, widths, strict=True):
        column = table.columns[place]
        shown.add_column(Text(column.title), justify=column.align, overflow="fold", width=max(1, width))
    for row in table.rows:
        shown.add_row(*(Text(row[place].text, style=STYLES[row[place].verdict]) for place in places))
    return shown
