"""Published reports whose logs are gone: their tables become runs with one printed value a metric."""

from slotmark.published.archive.reading import Report, column_of, read_report
from slotmark.published.archive.runs import BENCH, began, metrics_of, rows_left_out, unknown_rows, values_of, write_run

__all__ = [
    "BENCH",
    "Report",
    "began",
    "column_of",
    "metrics_of",
    "read_report",
    "rows_left_out",
    "unknown_rows",
    "values_of",
    "write_run",
]
