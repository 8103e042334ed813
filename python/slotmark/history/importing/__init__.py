"""Figures that other tools kept, as runs: a file per format."""

from slotmark.history.importing.figures import Asked, Record
from slotmark.history.importing.formats import FORMATS, read_records
from slotmark.history.importing.runs import BENCH, write_run

__all__ = ["BENCH", "FORMATS", "Asked", "Record", "read_records", "write_run"]
