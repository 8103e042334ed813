"""Documents for a terminal."""

import io
from collections.abc import Collection, Iterator, Sequence
from itertools import takewhile

import msgspec
from rich import box
from rich.console import Console
from rich.table import Table as RichTable
from rich.text import Text

from slotmark.numbers import percent
from slotmark.report.document import SHORT, Block, Document, Facts, Forest, Mark, Paragraph, Table, Warnings
from slotmark.report.renderers.columns import longest_word, spread
from slotmark.report.renderers.printable import printable_document
from slotmark.verdict import Verdict

GAP = 2
"""Letters between two columns."""

MOST_MARKS = 10
"""Lines of a forest, so that title, forest and sentences are in sight together."""

LEAST_NAME, LEAST_AXIS, MOST_AXIS = 16, 15, 41
"""In letters; a narrower axis isn't drawn."""

STYLES = {None: "", **{verdict: verdict.terminal for verdict in Verdict}}


TEXT_WIDTH = 100
"""Columns of text that is written to a file."""

LEAST_WIDTH = 40
"""A terminal with fewer columns breaks lines itself: words in so few are columns of letters."""


class _Terminal(Console):
    """A console whose reader may leave: who prints decides what that means."""

    def on_broken_pipe(self) -> None:
        raise BrokenPipeError


def print_document(document: Document, console: Console | None = None) -> None:
    """Prints the brief sections of a document; the rest is for files. BrokenPipeError where the reader has left."""
    console = console or _Terminal(highlight=False)
    console.width = max(console.width, LEAST_WIDTH)
    document = printable_document(document)
    console.print(Text(document.title, style=STYLES[document.verdict] or "bold"))
    if document.subtitle:
        console.print(Text(document.subtitle, style="dim"))
    forests = [block for section in document.sections for block in section.blocks if isinstance(block, Forest)]
    seen = {mark.link for forest in forests for mark in forest.marks[:MOST_MARKS]}
    for section in document.sections:
        if section.brief and not section.folded:
            for block in section.blocks:
                if isinstance(block, Table) and block.folded:
                    _print_rest(block, seen, console)
                else:
                    _print(block, console)


def short_text(document: Document) -> str:
    """Returns what the document has in short, without what is folded: text without colours, of fewer than :data:`SHORT` characters, its last lines counted."""
    written = io.StringIO()
    sections = document.short or document.sections
    print_document(
        msgspec.structs.replace(document, sections=sections),
        Console(file=written, width=TEXT_WIDTH, color_system=None, highlight=False, legacy_windows=False),
    )
    kept, left = [], SHORT - 60
    lines = [line.rstrip() for line in written.getvalue().splitlines()]
    for line in lines:
        left -= len(line) + 1
        if left < 0:
            kept.append(f"For length, {len(lines) - len(kept):,} lines are left out.")
            break
        kept.append(line)
    return "\n".join(kept) + "\n"


def _print_rest(table: Table, seen: Collection[str], console: Console) -> None:
    """The rows of a folded table that stand in no forest, without notes and reasons; nothing where there are none."""
    rows = [row for row in table.rows if row[0].link not in seen]
    if rows:
        console.print()
        for part in _parts(msgspec.structs.replace(table, rows=rows), console.width):
            console.print(part)


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
            reasons = [reason for verdict, reason in block.reasons if verdict.explained]
            if len(reasons) < len(block.reasons):
                reasons.append(f"{Verdict.EQUIVALENT.shown}: {Verdict.EQUIVALENT.meaning} of the row.")
            for reason in reasons:
                console.print(Text(reason, style="dim"))
        case Warnings(warnings):
            console.print()
            for warning in warnings:
                about = f"{warning.subject}: " if warning.subject else ""
                console.print(Text.assemble(("! ", "bold yellow"), (about, "bold"), warning.text))
        case Forest():
            _print_forest(block, console)
        case Facts(wide=False):
            for name, value in block.facts:
                console.print(Text.assemble((f"{name}: ", "bold"), value))
        case _:
            pass


def _print_forest(forest: Forest, console: Console) -> None:
    """A line per mark: its name, the axis with the margin as dots and the interval as a line, the difference in words."""
    marks, bold = forest.marks[:MOST_MARKS], console.color_system is not None
    words = [" ".join(filter(None, (mark.verdict.sign, mark.text, mark.span and f"[{mark.span}]"))) for mark in marks]
    beside = max(map(len, words), default=0)
    if LEAST_NAME + 2 + beside > console.width:  # a number that is cut is another number
        console.print()
        for mark, text in zip(marks, words, strict=True):
            console.print(Text(mark.name, style="bold" if mark.rank == "decisive" else ""))
            console.print(Text(f"  {text}", style=STYLES[mark.verdict]))
        console.print(Text(forest.how_to_read(bold=bold), style="dim"))
        return
    longest = max((len(mark.name) for mark in marks), default=0)
    beside_axis = console.width - beside - LEAST_AXIS - 4
    names = min(longest, beside_axis if beside_axis >= LEAST_NAME else console.width - beside - 2)
    values = max((len(mark.values) for mark in marks), default=0)
    if console.width - names - beside - values - 6 < LEAST_AXIS:
        values = 0
    axis = min(MOST_AXIS, console.width - names - beside - 4 - (values and values + 2) - 1) // 2 * 2 + 1
    console.print()
    for mark, text in zip(marks, words, strict=True):
        name = mark.name if len(mark.name) <= names else f"{mark.name[: names - 1]}…"
        style = STYLES[mark.verdict]
        line = Text(f"{name:{names}}  ", style="bold" if mark.rank == "decisive" else "")
        if axis >= LEAST_AXIS:
            line.append(_axis(forest, mark, axis), style=style).append("  ")
        line.append(text, style=style)
        if values:
            line.append(f"{'':{beside - len(text)}}  {mark.values:>{values}}")
        console.print(line, no_wrap=True, crop=True)
    if axis >= LEAST_AXIS:
        reach = percent(forest.reach)
        console.print(Text(f"{'':{names}}  -{reach}{'0':^{max(1, axis - 2 * len(reach) - 2)}}+{reach}", style="dim"))
    dots = "Dots" if axis >= LEAST_AXIS else ""
    console.print(Text(forest.how_to_read(margin=dots, bold=bold), style="dim"))


def _axis(forest: Forest, mark: Mark, width: int) -> str:
    """One line of the axis: the margin, no difference, the interval, and the sign of the verdict at the estimate."""

    def at(value: float) -> int:
        return round(forest.place(value) * (width - 1))

    signs = [" "] * width
    low, high = map(at, mark.margin)
    signs[low : high + 1] = "·" * (high + 1 - low)
    signs[width // 2] = "|"
    if mark.ends is not None:
        estimate, below, above = map(at, mark.ends)
        signs[below : above + 1] = "-" * (above + 1 - below)
        signs[estimate] = mark.verdict.sign
    return "".join(signs)


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
    # Verdicts stand in the first part, behind what fits beside them.
    judged = [place for place in kept if place not in labels and verdicts[place]]
    parts, closing = [labels], judged
    for place in [place for place in kept if place not in labels and place not in judged]:
        line = (*parts[-1], place, *closing)
        if (closing or parts[-1] != labels) and sum(least[one] for one in line) > _room(width, len(line)):
            parts[-1] = [*parts[-1], *closing]
            parts.append(labels)
            closing = []
        parts[-1] = [*parts[-1], place]
    parts[-1] = [*parts[-1], *closing]
    for number, part in enumerate(parts):
        most = [max(map(len, texts[place])) for place in part]
        line = min(sum(most), _room(width, len(part)))
        widths = [int(one) for one in spread([least[place] for place in part], most, line)]
        yield _table(table, ", continued" if number else "", part, widths)


def _room(width: int, columns: int) -> int:
    """Letters for text in a line of this many columns."""
    return width - 2 - GAP * (columns - 1)


def _table(table: Table, suffix: str, places: Sequence[int], widths: Sequence[int]) -> RichTable:
    title = Text(f"{table.title}{suffix}", style="bold")
    shown = RichTable(title=title, title_justify="left", box=box.SIMPLE_HEAD, pad_edge=False, padding=(0, 1, 0, 0))
    for place, width in zip(places, widths, strict=True):
        column = table.columns[place]
        shown.add_column(Text(column.title), justify=column.align, overflow="fold", width=max(1, width))
    for row in table.rows:
        shown.add_row(*(Text(row[place].text, style=STYLES[row[place].verdict]) for place in places))
    return shown
