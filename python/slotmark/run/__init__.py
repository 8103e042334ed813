"""A run: one recorded execution of one bench, as a folder with a manifest and tables."""

from slotmark.run.folder import Run, RunWriter, check_run, copy_run, open_run, open_runs
from slotmark.run.machine import MachineFacts, machine_facts, machine_warnings, utc_now
from slotmark.run.manifest import SCHEMA, Manifest, Origin, SourceFile, TablePart, Target, title_with_origin

__all__ = [
    "SCHEMA",
    "MachineFacts",
    "Manifest",
    "Origin",
    "Run",
    "RunWriter",
    "SourceFile",
    "TablePart",
    "Target",
    "check_run",
    "copy_run",
    "machine_facts",
    "machine_warnings",
    "open_run",
    "open_runs",
    "title_with_origin",
    "utc_now",
]
