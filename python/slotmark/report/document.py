"""A report before it has a form: sections of paragraphs, tables, figures and warnings, as plain data."""

from collections.abc import Callable
from typing import Any, Literal

import msgspec

from slotmark.metrics import Rank
from slotmark.verdict import Verdict
from slotmark.warnings import Warning

SHORT = 60_000
"""Characters: what a document has in short has fewer, whatever it is about. GitHub takes 65,536 for a comment."""

CONDITIONAL = "¹"
"""Stands behind the sign of a verdict that holds for these runs only."""

DRIFTING = "²"
"""Stands behind the sign where a drift that noise may hide keeps back a verdict."""


class Cell(msgspec.Struct, frozen=True):
    """A cell of a table: its text, a verdict that colours it, and a remark for those who ask; ``link`` names the row that it begins."""

    text: str
    verdict: Verdict | None = None
    remark: str = ""
    link: str = ""


class Column(msgspec.Struct, frozen=True):
    """A column of a table. A ``detail`` is left out where there is little room, as on a terminal."""

    title: str
    align: Literal["left", "right"] = "right"
    detail: bool = False


def left(*titles: str) -> list[Column]:
    """Columns of words."""
    return [Column(title, "left") for title in titles]


def right(*titles: str) -> list[Column]:
    """Columns of figures."""
    return [Column(title) for title in titles]


def details(*titles: str) -> list[Column]:
    """Columns of figures that are left out where there is little room."""
    return [Column(title, detail=True) for title in titles]


class Paragraph(msgspec.Struct, frozen=True, tag=True):
    """A paragraph of plain text."""

    text: str
    verdict: Verdict | None = None


class Table(msgspec.Struct, frozen=True, tag=True):
    """A table.

    Attributes:
        title: Above it.
        columns: Its columns.
        rows: A cell per column.
        notes: Below it.
        wide: Whether it is only for those who look closer: the terminal leaves it out, Markdown and HTML fold it.
        folded: Whether the forest has its main rows: Markdown and HTML fold it, the terminal shows the other rows, in short.
    """

    title: str
    columns: list[Column]
    rows: list[list[Cell]]
    notes: list[str] = []
    wide: bool = False
    folded: bool = False

    @property
    def reasons(self) -> list[tuple[Verdict, str]]:
        """Returns the reason for each verdict: its row, the verdict and the remark on it; rows without a name belong to the one above."""
        labels = [place for place, column in enumerate(self.columns[:2]) if column.align == "left"]
        found, named = [], [""] * len(labels)
        for row in self.rows:
            named = [row[place].text or before for place, before in zip(labels, named, strict=True)]
            found += [
                (cell.verdict, f"{', '.join(named)}: {cell.text}: {cell.remark}.")
                for cell in row
                if cell.verdict and cell.remark
            ]
        return found


class Facts(msgspec.Struct, frozen=True, tag=True):
    """Names and values; ``wide`` as in :class:`Table`."""

    title: str
    facts: list[tuple[str, str]]
    wide: bool = False


class Figure(msgspec.Struct, frozen=True, tag=True):
    """A chart. ``small`` ones can be read at a third of a page's width: up to three stand beside each other.

    Attributes:
        title: Title of the chart.
        caption: What it shows; of a small one only where it is opened.
        draw: Makes the Vega-Lite specification with its data; the same whenever it is called.
        small: See above.
    """

    title: str
    caption: str
    draw: Callable[[], dict[str, Any]]
    small: bool = False


class Warnings(msgspec.Struct, frozen=True, tag=True):
    """Warnings."""

    warnings: list[Warning]


class Mark(msgspec.Struct, frozen=True, kw_only=True):
    """A line of a forest: one difference.

    Attributes:
        name: Name of the metric, with its part and side where there are several.
        rank: Rank of the metric.
        verdict: On the difference.
        values: Both levels with their unit; empty where one is missing.
        text: The difference, in words.
        span: Its interval, in words; empty where there is none.
        ends: Estimate, low and high end, as fractions of the baseline; None where there is no ratio.
        margin: Both ends of the margin, likewise.
        limit: The margin, in words.
        threshold: The level that the margin allows at most or at least, in words; empty where there is none.
        link: Names the row of a table that has more; see :class:`Cell`.
        conditional: Whether the verdict holds for these runs only.
    """

    name: str
    rank: Rank
    verdict: Verdict
    values: str = ""
    text: str
    span: str
    ends: tuple[float, float, float] | None
    margin: tuple[float, float]
    limit: str = ""
    threshold: str = ""
    link: str = ""
    conditional: bool = False


class Forest(msgspec.Struct, frozen=True, tag=True):
    """Differences one below the other on a common axis, with their intervals and margins.

    Attributes:
        marks: One per line.
        reach: Where the axis ends on both sides of no difference, as a fraction.
        note: What its lines are.
        left: How many rows are in the tables alone.
        beyond: Whether a value lies beyond the axis.
    """

    marks: list[Mark]
    reach: float
    note: str
    left: int = 0
    beyond: bool = False

    def how_to_read(self, *, margin: str = "", bold: bool = True) -> str:
        """Returns the words below it.

        Args:
            margin: The look of the margin on the axis, as ``Shaded``; empty where no axis is drawn.
            bold: Whether names of decisive metrics are bold.
        """
        decisive = sum(mark.rank == "decisive" for mark in self.marks)
        words = [
            self.note,
            "Bold: decisive." if bold else f"Decisive: the first {decisive}." if decisive else "Decisive: none.",
            f"{self.left} more in the tables." if self.left else "",
            f"{margin}: the margin." if margin else "",
            "Values beyond the axis are drawn at its end." if margin and self.beyond else "",
        ]
        return " ".join(filter(None, words))

    def place(self, value: float) -> float:
        """Returns the place of a fraction on the axis, from 0 to 1; values beyond the axis are at its ends."""
        return min(1.0, max(0.0, (value / self.reach + 1) / 2))


Block = Paragraph | Table | Facts | Figure | Warnings | Forest


class Section(msgspec.Struct, frozen=True):
    """A titled part of a report; ``brief`` ones are shown wherever there is little room, ``folded`` ones open in Markdown and HTML."""

    title: str
    blocks: list[Block]
    brief: bool = False
    folded: bool = False


class Source(msgspec.Struct, frozen=True):
    """A file that runs were made from: the sides that it is of, its path, its size, and its digest with the digest's name."""

    sides: str
    path: str
    bytes: int
    identity: str


LONG_TITLE = 120
"""Letters that two lines of a page have room for, about, in the size of titles."""


class Document(msgspec.Struct, frozen=True):
    """A report; its title may be a verdict, and is then coloured like one.

    Attributes:
        title: The first line.
        subtitle: Below it.
        sections: All that the report has.
        verdict: What the title looks like.
        sources: A file of their own.
        short: What stands in report-short.md; empty for the brief ones of the sections.
    """

    title: str
    subtitle: str
    sections: list[Section]
    verdict: Verdict | None = None
    sources: list[Source] = []
    short: list[Section] = []

    @property
    def has_long_title(self) -> bool:
        """True where the title takes several lines in large letters, as a decision with its reasons does: it is set in smaller ones then."""
        return len(self.title) > LONG_TITLE
