"""Reports as an established tool would print them."""

from slotmark.published import Publication, PublishedTable
from slotmark.report.document import Cell, Column, Document, Figure, Paragraph, Section, Table
from slotmark.report.drawing import later
from slotmark.report.sections.cells import titled
from slotmark.report.sections.charts import CLIPPED, how_distributions_are_read
from slotmark.report.sections.dictionary import dictionary


def published_document(publication: Publication) -> Document:
    """The document of published tables, with what the method has beside them: manifest, charts, dictionary."""
    report = publication.report
    bench = report.sides[0].manifests[0].bench
    names = [name for side in report.sides for name in side.names]
    figures = [
        Figure(titled(row), row.metric.definition, later("cdf", row, names, CLIPPED), small=True)
        for row in publication.charted
        if any(one and one.centiles for one in row.summaries)
    ]
    sections = [
        Section("", [Paragraph(report.compared)] if report.compared else [], brief=True),
        Section("Manifest", [_table(report.manifest)] if report.manifest else []),
        Section("Analysis" if report.compared else "", [_table(table) for table in report.tables], brief=True),
        Section(
            "Appendix A: charts",
            [Paragraph(how_distributions_are_read(publication.charted, bench)), *figures] if figures else [],
        ),
        Section("Appendix B: data dictionary", [dictionary(publication.metrics)] if publication.metrics else []),
    ]
    return Document(report.title, report.said, [section for section in sections if section.blocks])


def _table(table: PublishedTable) -> Table:
    """A table; columns of words are set to the left, all others to the right."""
    columns = [Column(title, "left" if place < table.labels else "right") for place, title in enumerate(table.columns)]
    return Table(table.title, columns, [[Cell(cell.text) for cell in row] for row in table.rows], table.notes)
