"""Published reports as files of their tables: every cell is the text that was printed. docs/archive.md describes the form."""

import math
from collections.abc import Sequence
from pathlib import Path
from typing import NoReturn

import msgspec

from slotmark.cleaning import one_name
from slotmark.errors import ImportFileError, did_you_mean
from slotmark.published.styles import STYLES
from slotmark.words import counted, listed

MOST_BYTES = 16 << 20
"""A larger file is no report's tables: those of three runs take 14 kB."""

_MISSING = ("", "-", "—", "nan", "NaN")
"""Texts that reports print where they have no value."""

_FORM = "expected the tables of a report as JSON: report, style, versions, manifest, sections (docs/archive.md)"


class Row(msgspec.Struct, frozen=True):
    """A row of a table, with a value per run.

    Attributes:
        metric: What it is called.
        unit: As printed.
        values: As printed, one per run.
    """

    metric: str
    unit: str
    values: list[str]


class Report(msgspec.Struct, frozen=True):
    """The tables of a report, as in its file.

    Attributes:
        report: Its name.
        style: By which rules its cells are printed: a name of :data:`slotmark.published.styles.STYLES`.
        versions: The names of its runs, in the order of the columns.
        manifest: What is known of each run, by label; one text per run.
        sections: Its tables by title.
        workload: The work of all its runs; None where the report doesn't have it.
    """

    report: str
    style: str
    versions: list[str]
    manifest: dict[str, list[str]]
    sections: dict[str, list[Row]]
    workload: str | None = None

    @property
    def rows(self) -> list[Row]:
        """The rows of all tables, in order."""
        return [row for rows in self.sections.values() for row in rows]

    def facts(self, place: int) -> dict[str, str]:
        """Returns the facts of a run whose labels are in the report."""
        return {label: texts[place] for label, texts in self.manifest.items() if texts[place] not in _MISSING}


def read_report(file: Path) -> Report:
    """The report in a file.

    Raises:
        ImportFileError: The file can't be read, is cut or something else, has no run, a row with too few values, or a cell that is no number.
    """
    try:
        size = file.stat().st_size
        text = file.read_bytes() if size <= MOST_BYTES else b""
    except OSError as error:
        raise ImportFileError(
            f"{file}: can't be read ({error.strerror}). Name a file with a report's tables."
        ) from error
    if size > MOST_BYTES:
        _refuse(file, f"{size:,} bytes, and a report's tables have {MOST_BYTES:,} at most")
    try:
        report = msgspec.json.decode(text, type=Report)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        _refuse(file, str(error))
    _check(file, report)
    return report


def column_of(file: Path, report: Report, named: str) -> int:
    """The place of the run that is named, or given by its number from 1 on. ImportFileError where there is none, or several."""
    places = [place for place, name in enumerate(report.versions) if name == named]
    if not places and named.isascii() and named.isdigit() and 0 < int(named) <= len(report.versions):
        return int(named) - 1
    if len(places) == 1:
        return places[0]
    names = [one_name(name) for name in report.versions]
    if places:
        raise ImportFileError(
            f"{file}: {len(places)} columns are named '{one_name(named)}'. Give its number, from 1 to {len(names)}."
        )
    raise ImportFileError(f"{file}: no column '{one_name(named)}'.{did_you_mean(named, names)} It has {listed(names)}.")


def number(text: str) -> float | None:
    """The number that is printed; None where nothing is. ValueError where it is something else."""
    if text in _MISSING:
        return None
    value = float(text)
    if not math.isfinite(value):
        raise ValueError(text)
    return value


def _check(file: Path, report: Report) -> None:
    if report.style not in STYLES:
        _refuse(file, f"style is '{one_name(report.style)}', and {listed(list(STYLES))} are known")
    if not report.versions:
        _refuse(file, "versions is empty: there is no run in it")
    if not report.rows:
        _refuse(file, "sections have no row")
    for label, texts in report.manifest.items():
        _check_length(file, f"manifest, '{one_name(label)}'", texts, report)
    seen: set[tuple[str, str]] = set()
    for title, rows in report.sections.items():
        for row in rows:
            where = f"{one_name(title)}, '{one_name(row.metric)}'"
            _check_length(file, where, row.values, report)
            if (row.metric, row.unit) in seen:
                _refuse(file, f"{where}: the row is there twice")
            seen.add((row.metric, row.unit))
            for name, text in zip(report.versions, row.values, strict=True):
                try:
                    number(text)
                except ValueError:
                    _refuse(file, f"{where}, column '{one_name(name)}': '{one_name(text)}' is no number")


def _check_length(file: Path, where: str, texts: Sequence[str], report: Report) -> None:
    if len(texts) != len(report.versions):
        _refuse(file, f"{where}: {counted(len(texts), 'value')} for {counted(len(report.versions), 'run')}")


def _refuse(file: Path, what: str) -> NoReturn:
    raise ImportFileError(f"{file}: {what}; {_FORM}. Correct it, or name another file.")
