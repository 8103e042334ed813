"""report-short.md is short whatever it is about, and report-sources.csv has what reports leave out."""

import csv
import re
from pathlib import Path

import pytest

from slotmark.compare import compare
from slotmark.report import comparison_document, write_report
from slotmark.report.document import (
    Block,
    Cell,
    Column,
    Document,
    Facts,
    Forest,
    Mark,
    Paragraph,
    Section,
    Table,
    Warnings,
)
from slotmark.report.renderers.markdown import SHORT, short_markdown
from slotmark.report.renderers.pdf import pdf
from slotmark.report.renderers.terminal import short_text
from slotmark.verdict import Verdict
from slotmark.warnings import Warning

from ..made_up_runs import write_run

RATES = [1000.0, 1010.0, 990.0, 1005.0, 995.0, 1002.0]


def large(text: str, count: int) -> Document:
    """A document with a text in every place, and as many blocks and rows of each kind."""
    mark = Mark(
        name=text,
        rank="decisive",
        verdict=Verdict.WORSE,
        values=text,
        text="+1 %",
        span="0 to 2",
        ends=(0.01, 0.0, 0.02),
        margin=(-0.02, 0.02),
        limit="2 %",
    )
    blocks: list[Block] = [
        Forest([mark] * count, 0.1, text),
        Facts("", [(text, text)] * count),
        Warnings([Warning("odd", text, text)] * count),
        Table(text, [Column(text, "left"), Column("b")], [[Cell(text), Cell("1")]] * count, [text] * 3),
        *[Paragraph(text)] * count,
    ]
    return Document(text, text, [Section("One", blocks, brief=True), Section(text, blocks, brief=True)])


@pytest.mark.parametrize(
    "text", ["short", "@a " * 50_000, "|*_~`" * 20_000, "\x1b" * 30_000, "&lt; https://x.y " * 9_000]
)
@pytest.mark.parametrize("count", [1, 1_000])
def test_it_is_below_its_limit_and_its_markup_is_whole(text: str, count: int) -> None:
    # A thousand of them are longer than what is kept of a text, not more: to clean them would take most of the time.
    written = short_markdown(large(text if count == 1 else text[:1_000], count))
    assert len(written) < SHORT == 60_000
    assert written.rstrip().endswith("report.md, report.html and report.pdf.")
    for table in re.findall(r"(?:^\|.*\n)+", written, re.MULTILINE):
        bars = {line.count("|") - line.count("\\|") for line in table.splitlines()}
        assert len(bars) == 1
    assert written.count("<details>") == 0
    left_out = re.search(r"(?m)^For length, ([0-9,]+) of its parts (?:is|are) left out[.]$", written)
    assert bool(left_out) == (count > 1 and text != "short")
    assert len(short_text(large(text if count == 1 else text[:1_000], count))) < SHORT


def test_it_begins_with_the_decision_and_what_matters(tmp_path: Path) -> None:
    runs = [
        write_run(tmp_path / name, "client", {"decode, sequential": [rate * factor for rate in RATES]})
        for name, factor in (("base", 1.0), ("slow", 0.8))
    ]
    comparison = compare(runs)
    document = comparison_document(comparison)
    write_report(document, comparison, tmp_path / "out")
    written = (tmp_path / "out" / "report-short.md").read_text()
    assert written.startswith(f"# {document.title}")
    assert "| **Blocks per second, decode, sequential** |" in written
    assert "▼ worse" in written
    assert not comparison.all_warnings
    assert "## Warnings" not in written


def test_it_has_the_warnings(tmp_path: Path) -> None:
    runs = [write_run(tmp_path / name, name, {"decode, sequential": RATES}, session=name) for name in ("base", "same")]
    comparison = compare(runs)
    assert comparison.all_warnings
    assert "## Warnings" in short_markdown(comparison_document(comparison))


def test_files_and_their_hashes_are_in_a_file_of_their_own(tmp_path: Path) -> None:
    runs = [write_run(tmp_path / name, name, {"decode, sequential": RATES}) for name in ("base", "same")]
    comparison = compare(runs)
    files = {file.path: file for side in comparison.sides for file in side.manifest.sources}
    assert files
    document = comparison_document(comparison)
    write_report(document, comparison, tmp_path / "out")
    with (tmp_path / "out" / "report-sources.csv").open(newline="") as listed:
        rows = {row["file"]: row for row in csv.DictReader(listed)}
    assert rows.keys() == files.keys()
    for path, file in files.items():
        assert int(rows[path]["bytes"]) == file.bytes
        assert rows[path]["digest"] == file.identity
    for name in ("report.md", "report.html", "report-short.md"):
        shown = (tmp_path / "out" / name).read_text()
        assert not [file for file in files.values() if file.sha256 and file.sha256 in shown]
    assert pdf(document)


def test_facts_are_in_one_form_in_every_place(tmp_path: Path) -> None:
    runs = [write_run(tmp_path / name, name, {"decode, sequential": RATES}) for name in ("one", "other")]
    write_report(comparison_document(compare(runs)), compare(runs), tmp_path / "out")
    short, whole = ((tmp_path / "out" / f"report{form}.md").read_text() for form in ("-short", ""))
    assert "- baseline one: measured in one session with other\n" in short, "no side is called base"
    assert "2 cores, 8 GiB," in short
    assert "2 cores, 8.0 GiB," in whole, "of one unit"
    assert "| blocks | 10,000 | 10,000 |" in whole, "as bytes beside it"
    assert "| bytes | 23,190,000 | 23,190,000 |" in whole
