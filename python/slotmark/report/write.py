"""Writing a report's files, all or none."""

from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from io import BytesIO
from pathlib import Path

import msgspec
import pyarrow as pa

from slotmark.cleaning import one_line
from slotmark.errors import RunError, remedy
from slotmark.places import folder_of
from slotmark.report.document import Document
from slotmark.report.renderers.csv import write_csv
from slotmark.report.renderers.html import html
from slotmark.report.renderers.json import json
from slotmark.report.renderers.markdown import markdown, short_markdown
from slotmark.report.renderers.pdf import pdf
from slotmark.report.sections.manifest import SOURCES_FILE
from slotmark.whole_files import written_whole


def write_report(document: Document, result: msgspec.Struct, folder: Path) -> list[Path]:
    """Writes report.html, .pdf, .md and .json into ``folder``, in the place of older ones; returns their paths.

    Beside them are report-short.md, which is short enough for a comment whatever the report holds, and report-sources.csv, with a line
    per file that the runs were made from.

    Args:
        document: The report.
        result: What it was made from, for report.json.
        folder: Made if need be.

    Raises:
        ArgumentError: It is a URL.
        RunError: The folder can't be written, or another command is writing there.
    """
    folder = folder_of(folder)
    with ThreadPoolExecutor(1) as beside:  # other processes make its pictures meanwhile
        on_paper = beside.submit(pdf, document)
        files = {
            "report.html": html(document).encode(),
            "report.pdf": on_paper.result(),
            "report.md": markdown(document).encode(),
            "report.json": json(result),
            "report-short.md": short_markdown(document).encode(),
            SOURCES_FILE: _sources(document),
        }
    there = folder.exists()
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with written_whole(*(folder / name for name in files)) as partials:
            for partial, content in zip(partials, files.values(), strict=True):
                partial.write_bytes(content)
    except OSError as error:
        if not there:
            with suppress(OSError):  # another command writes there
                folder.rmdir()
        raise RunError(f"{folder}: can't write the report ({error.strerror}). {remedy(error)}") from error
    return [folder / name for name in files]


def _sources(document: Document) -> bytes:
    """The sources as CSV; only its head where none is known."""
    columns = {
        "sides": pa.array([one_line(one.sides) for one in document.sources], pa.string()),
        "file": pa.array([one_line(one.path) for one in document.sources], pa.string()),
        "bytes": pa.array([one.bytes for one in document.sources], pa.int64()),
        "digest": pa.array([one_line(one.identity) for one in document.sources], pa.string()),
    }
    written = BytesIO()
    write_csv(pa.table(columns), written)
    return written.getvalue()
