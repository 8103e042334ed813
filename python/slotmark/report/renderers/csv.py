"""Samples as CSV, for programs and for spreadsheets.

A spreadsheet takes a cell that begins with ``=``, ``+``, ``-`` or ``@`` for a formula and runs it, also behind a tab or a line
end. Names and other text come from strangers' logs and run folders, so such a cell gets an apostrophe before it, which
spreadsheets take as "this is text" (OWASP, CSV Injection), and no text steers the terminal that it is printed on. Numbers are left
as they are.
"""

from pathlib import Path
from typing import BinaryIO

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv

from slotmark.cleaning import one_line

_FORMULA = r"\A([=+\-@\t\r\n])"


def write_csv(table: pa.Table, out: Path | BinaryIO) -> None:
    """Writes the rows of a table behind a line of its column names."""
    columns = [_text_only(column) for column in table.columns]
    names = _text_only(pa.chunked_array([table.column_names], pa.string())).to_pylist()
    pyarrow.csv.write_csv(pa.table(columns, names=names), out)


def _text_only(column: pa.ChunkedArray) -> pa.ChunkedArray | pa.Array:
    """The column with each text in one line of printable characters, and an apostrophe before those that a spreadsheet would take for a formula."""
    kind = column.type
    if pa.types.is_dictionary(kind):
        kind = kind.value_type
    if not (pa.types.is_string(kind) or pa.types.is_large_string(kind)):
        return column
    marked = pc.call_function(
        "replace_substring_regex",
        [column.cast(kind)],
        pc.ReplaceSubstringOptions(pattern=_FORMULA, replacement=r"'\1"),
    )
    words = marked.dictionary_encode().combine_chunks()
    return pa.array([one_line(word) for word in words.dictionary.to_pylist()], kind).take(words.indices)
