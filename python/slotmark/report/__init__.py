"""Reports: one document model, one renderer a file. Knows no bench."""

from slotmark.report.build import (
    comparison_document,
    run_document,
    runs_document,
)
from slotmark.report.document import Document
from slotmark.report.terminal import print_document
from slotmark.report.write import write_report

__all__ = [
    "Document",
    "comparison_document",
    "print_document",
    "run_document",
    "runs_document",
    "write_report",
]
