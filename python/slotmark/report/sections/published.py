"""What an established tool or report would print."""

from slotmark.published import PublishedReport
from slotmark.report.document import Block, Cell, Column, Document, Section, Table


def published_document(report: PublishedReport) -> Document:
    """The document of published tables: columns of words are set to the left, all others to the right."""
    tables: list[Block] = [
        Table(
            table.title,
            [Column(title, "left" if place < table.labels else "right") for place, title in enumerate(table.columns)],
            [[Cell(cell.text) for cell in row] for row in table.rows],
            table.notes,
        )
        for table in report.tables
    ]
    return Document(report.title, report.said, [Section("", tables, brief=True)])
