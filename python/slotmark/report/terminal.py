"""Documents for a terminal."""

from rich import box
from rich.console import Console
from rich.table import Table as RichTable
from rich.text import Text

from slotmark.report.document import Document, Doubts, Facts, Paragraph, Table

STYLES = {"better": "bold green", "worse": "bold red", "equivalent": "cyan", "inconclusive": "yellow", None: ""}


def print_document(document: Document, console: Console | None = None) -> None:
    """Prints the brief sections of a document; the rest is for files."""
    console = console or Console(highlight=False)
    console.print(Text(document.title, style="bold"))
    if document.subtitle:
        console.print(Text(document.subtitle, style="dim"))
    for section in document.sections:
        if not section.brief:
            continue
        for block in section.blocks:
            match block:
                case Paragraph(text, verdict):
                    console.print(Text(text, style=STYLES[verdict]))
                case Table(wide=False):
                    console.print()
                    console.print(_table(block))
                    for note in block.notes:
                        console.print(Text(note, style="dim"))
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


def _table(table: Table) -> RichTable:
    shown = RichTable(
        title=Text(table.title, style="bold"), title_justify="left", box=box.SIMPLE_HEAD, pad_edge=False, padding=(0, 1)
    )
    kept = [place for place, column in enumerate(table.columns) if not column.detail]
    for place in kept:
        column = table.columns[place]
        shown.add_column(Text(column.title), justify=column.align, overflow="fold")
    for row in table.rows:
        shown.add_row(*(Text(row[place].text, style=STYLES[row[place].verdict]) for place in kept))
    return shown
