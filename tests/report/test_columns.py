"""Tables fitted to a page."""

import re

from hypothesis import given
from hypothesis import strategies as st

from slotmark.report.document import Cell, Column, Table
from slotmark.report.renderers.columns import BREAK, breakable, fit

LINE = 480.0

texts = st.text("ab 0.-/", max_size=60)
tables = st.integers(1, 20).flatmap(
    lambda columns: st.builds(
        Table,
        title=st.just(""),
        columns=st.lists(st.builds(Column, texts), min_size=columns, max_size=columns),
        rows=st.lists(st.lists(st.builds(Cell, texts), min_size=columns, max_size=columns), max_size=4),
    )
)


def table(*columns: list[str]) -> Table:
    return Table(
        "", [Column("") for _ in columns], [[Cell(text) for text in row] for row in zip(*columns, strict=True)]
    )


@given(tables)
def test_columns_fill_the_line(made: Table) -> None:
    measures = fit(made, line=LINE, size=8)
    assert len(measures.widths) == len(made.columns)
    assert all(width > 0 for width in measures.widths)
    assert abs(sum(measures.widths) - LINE) < 1e-6
    assert 5 < measures.size <= 8


@given(st.text())
def test_places_to_break_change_nothing_else(text: str) -> None:
    assert breakable(text).replace(BREAK, "") == re.sub(r"(?<=\d) (?=%)", "\N{NO-BREAK SPACE}", text.replace(BREAK, ""))


def test_long_words_break_after_punctuation_and_hashes_anywhere() -> None:
    assert breakable("short-word and another_one") == "short-word and another_one"
    assert breakable("a-name/that_is.rather-long") == BREAK.join(["a-", "name/", "that_", "is.", "rather-", "long"])
    assert breakable("f" * 64) == BREAK.join("f" * 64)
    assert breakable("f" * 32) == "f" * 32


def test_what_fits_keeps_its_size_and_the_first_column_takes_the_rest() -> None:
    measures = fit(table(["name"], ["1.000"], ["2.000"]), line=LINE, size=8)
    assert measures.size == 8
    assert measures.widths[0] > 400
    assert measures.widths[1] == measures.widths[2] < 40


def test_longer_text_gets_more_of_the_line_and_words_stay_whole() -> None:
    measures = fit(table(["some words " * 30], ["other words " * 10], ["0.123456789"]), line=LINE, size=8)
    assert measures.widths[0] > measures.widths[1] > measures.widths[2] >= 11 * 4


def test_crowded_tables_get_smaller_type() -> None:
    assert fit(table(*[["0.123456"]] * 14), line=LINE, size=8).size < 8
