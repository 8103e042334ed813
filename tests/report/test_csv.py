"""Samples as CSV: what a spreadsheet would run as a formula is text there, and numbers stay numbers."""

import csv
import io
from pathlib import Path

import pyarrow as pa
import pytest

from slotmark.cleaning import one_line
from slotmark.report.renderers.csv import write_csv
from tests.cluster.test_ingest import cluster, ingested
from tests.conftest import slotmark

FORMULAS = ["=cmd|'/c calc'!A0", "+1+1", "-2+3", "@SUM(A1:A9)", "\t=1+1", "\r=1+1", "\n=1+1"]
TEXTS = ["node-0", "1=1", "'=1", " =1", 'a "quoted", text', "", "é"]


def rows(table: pa.Table) -> list[list[str]]:
    out = io.BytesIO()
    write_csv(table, out)
    return list(csv.reader(io.StringIO(out.getvalue().decode(), newline="")))


@pytest.mark.parametrize("kind", [pa.string(), pa.large_string(), pa.dictionary(pa.int32(), pa.string())], ids=str)
def test_a_formula_gets_an_apostrophe_and_other_text_nothing(kind: pa.DataType) -> None:
    table = pa.table({"name": pa.array(FORMULAS + TEXTS).cast(kind)})
    assert rows(table) == [["name"], *([one_line(f"'{text}")] for text in FORMULAS), *([text] for text in TEXTS)]


def test_numbers_nulls_and_names_of_columns() -> None:
    table = pa.table({"=a": [-1, None], "b": [-0.5, 1.0], "c": ["-x", None]})
    assert rows(table) == [["'=a", "b", "c"], ["-1", "-0.5", "'-x"], ["", "1", ""]]


def test_no_text_steers_the_terminal_that_it_is_printed_on() -> None:
    names = ["node-0", "\x1b[2Jnode-1", "node-2\n3", "node\u202e-4"]
    assert rows(pa.table({"host": names})) == [
        ["host"],
        ["node-0"],
        ["\ufffd[2Jnode-1"],
        ["node-2 3"],
        ["node\ufffd-4"],
    ]


def test_hosts_of_a_strangers_run_are_no_formulas(tmp_path: Path) -> None:
    logs = cluster().write(tmp_path / "logs")
    names = ["=cmd|' C calc'!A0", "+1+1", "@SUM(A1)"]
    for number, name in enumerate(names):
        (logs / f"node-{number}").rename(logs / name)
    ingested(logs, tmp_path / "run")
    printed = slotmark("samples", tmp_path / "run", "forge_starts", "--filter", "none")
    assert printed.returncode == 0, printed.stderr
    hosts = {row["host"] for row in csv.DictReader(io.StringIO(printed.stdout))}
    assert hosts == {f"'{name}" for name in names}
