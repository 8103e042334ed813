"""Writing a report's files, all or none."""

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import msgspec

from slotmark.errors import RunError
from slotmark.report.document import Document
from slotmark.report.renderers.html import html
from slotmark.report.renderers.json import json
from slotmark.report.renderers.markdown import markdown
from slotmark.report.renderers.pdf import pdf


def write_report(document: Document, result: msgspec.Struct, folder: Path) -> list[Path]:
    """Writes report.html, .pdf, .md and .json into ``folder``, in the place of older ones; returns their paths.

    Args:
        document: The report.
        result: What it was made from, for report.json.
        folder: Made if need be.

    Raises:
        RunError: The folder can't be written.
    """
    with ThreadPoolExecutor(1) as beside:  # half of the time charts become pictures for paper, in compiled code
        on_paper = beside.submit(pdf, document)
        files = {
            "report.html": html(document).encode(),
            "report.pdf": on_paper.result(),
            "report.md": markdown(document).encode(),
            "report.json": json(result),
        }
    partials = {name: folder / f".{name}.partial" for name in files}
    there = folder.exists()
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for name, content in files.items():
            partials[name].write_bytes(content)
        for name, partial in partials.items():
            partial.rename(folder / name)
    except OSError as error:
        for partial in partials.values() if folder.is_dir() else ():
            partial.unlink(missing_ok=True)
        if not there and folder.is_dir():
            folder.rmdir()
        raise RunError(
            f"{folder}: can't write the report ({error.strerror}). Choose another -o, or make room."
        ) from error
    return [folder / name for name in files]
