"""Reports: one document model, sections that fill it, one renderer per file. Has no code for a single bench, and computes nothing."""

from slotmark.report.build import (
    comment_document,
    comparison_document,
    explanation_document,
    growth_document,
    plan_document,
    release_document,
    release_plan_document,
    run_document,
    session_document,
    spread_document,
)
from slotmark.report.document import Document
from slotmark.report.renderers.html import report_style
from slotmark.report.renderers.terminal import print_document
from slotmark.report.sections.bisection import bisection_document
from slotmark.report.sections.history import changes_document, history_document
from slotmark.report.write import write_report

__all__ = [
    "Document",
    "bisection_document",
    "changes_document",
    "comment_document",
    "comparison_document",
    "explanation_document",
    "growth_document",
    "history_document",
    "plan_document",
    "print_document",
    "release_document",
    "release_plan_document",
    "report_style",
    "run_document",
    "session_document",
    "spread_document",
    "write_report",
]
