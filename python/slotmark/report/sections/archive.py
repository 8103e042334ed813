"""The tables of a published report as they were printed."""

from slotmark.cleaning import one_name
from slotmark.published.archive import Report, metrics_of, rows_left_out, unknown_rows
from slotmark.published.archive.runs import label_of
from slotmark.report.document import Block, Cell, Document, Section, Table, Warnings, left, right


def archive_document(report: Report) -> Document:
    """All rows of a report with each run's value, and the metric that a row is."""
    known, left_out = metrics_of(report), unknown_rows(report)
    runs = [one_name(name) for name in report.versions]
    tables: list[Block] = [
        Table(
            one_name(title),
            [*left(""), *right(*runs), *left("metric")],
            [
                [Cell(one_name(label)), *(Cell(one_name(text)) for text in row.values), Cell(known.get(label, "-"))]
                for row in rows
                if (label := label_of(row))
            ],
        )
        for title, rows in report.sections.items()
    ]
    facts = Table(
        "What is known of each run",
        left("", *runs),
        [[Cell(one_name(text)) for text in (label, *texts)] for label, texts in report.manifest.items()],
    )
    found = [Section("Warnings", [Warnings([rows_left_out(left_out)])], brief=True)] if left_out else []
    work = f"workload {one_name(report.workload)}" if report.workload else ""
    title = f"{one_name(report.report)}, as printed"
    return Document(title, work, [*found, Section("", [facts, *tables], brief=True)])
