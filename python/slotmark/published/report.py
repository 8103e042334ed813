"""Published tables as plain data: each cell as it is printed, and the number behind it."""

import math

import msgspec

from slotmark.compare.results.rows import Row
from slotmark.metrics import Metric
from slotmark.run import Manifest


class PublishedCell(msgspec.Struct, frozen=True):
    """A cell of a published table.

    Attributes:
        text: As printed, by the method's own roundings.
        value: The number that the text stands for, in the unit that is printed; of a delta or a share, from numbers that are
            unrounded too, whatever the method takes it from. None where the cell is words, two numbers, or no finite number.
    """

    text: str
    value: float | None = None


class PublishedTable(msgspec.Struct, frozen=True):
    """A table.

    Attributes:
        title: Above it.
        columns: Their titles.
        rows: The cells, as many per row as there are columns.
        labels: How many of the first columns hold words; their cells have no value.
        notes: Below it.
    """

    title: str
    columns: list[str]
    rows: list[list[PublishedCell]]
    labels: int = 2
    notes: list[str] = []


class PublishedSide(msgspec.Struct, frozen=True):
    """The runs of one side.

    Attributes:
        names: Names of its runs, as the tables have them.
        manifests: Manifests of its runs, in the same order.
        filters: What of its runs is analysed, in words; empty for benches without filters.
    """

    names: list[str]
    manifests: list[Manifest]
    filters: list[str] = []


class Printed(msgspec.Struct, frozen=True, kw_only=True):
    """The output of a method for some runs.

    Attributes:
        said: Where the tables come from, in words without a full stop.
        tables: In the method's order.
        title: Title of the whole; empty for the common one.
        compared: Which runs are compared, as a sentence; empty where the method has none.
        manifest: What is known of each run; None where the method has none.
        charted: The distributions that the method draws: rows without differences.
        metrics: Those of the method's data dictionary.
    """

    said: str
    tables: list[PublishedTable]
    title: str = ""
    compared: str = ""
    manifest: PublishedTable | None = None
    charted: list[Row] = []
    metrics: list[Metric] = []


class PublishedReport(msgspec.Struct, frozen=True, kw_only=True):
    """The report that an established tool would print of some runs.

    Attributes:
        method: The name of the tool or report.
        title: Title of the whole.
        said: Where the tables come from, in a sentence.
        sides: The first is the reference.
        compared: Which runs are compared, as a sentence; empty where the method has none.
        manifest: What is known of each run; None where the method has none.
        tables: In the method's order.
    """

    method: str
    title: str
    said: str
    sides: list[PublishedSide]
    compared: str = ""
    manifest: PublishedTable | None = None
    tables: list[PublishedTable]


class Publication(msgspec.Struct, frozen=True, kw_only=True):
    """A published report with what is drawn and explained beside its tables.

    Attributes:
        report: The tables.
        charted: The distributions that the method draws, rows without differences: one summary per run.
        metrics: Those of the method's data dictionary.
    """

    report: PublishedReport
    charted: list[Row]
    metrics: list[Metric]


def words(*texts: str) -> list[PublishedCell]:
    """Cells without a value."""
    return [PublishedCell(text) for text in texts]


def figure(value: float, form: str, suffix: str = "") -> PublishedCell:
    """A number printed by a format specification, as ``.1f``, with what is printed behind it."""
    return PublishedCell(f"{value:{form}}{suffix}", value if math.isfinite(value) else None)
