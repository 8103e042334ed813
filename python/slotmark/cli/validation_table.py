"""Tables of `slotmark simulate --validate` and `slotmark cluster validate`: simulated beside published, and beside measured."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import msgspec
from rich.table import Table

from slotmark.benches.cluster.simulating.simulate import END_TO_END_ROWS, PEER_ROWS, Tables
from slotmark.cleaning import one_name
from slotmark.cli.console import print_table
from slotmark.numbers import fixed, percent
from slotmark.statistics.interval import Interval

if TYPE_CHECKING:
    from slotmark.benches.cluster.live.validating import Validation
    from slotmark.report.document import Document


def validation_table(name: str, tables: Tables) -> Table:
    """Predicted beside published, for the rows from First peer notice to 1.00 adoption."""
    table = Table(title=f"{name}: {tables.blocks:,} blocks analysed", title_justify="left", box=None, pad_edge=False)
    table.add_column("metric")
    for column in ("predicted, s", "± (one s.e.)", "published, s", "error"):
        table.add_column(column, justify="right")
    for metric in (*PEER_ROWS, *END_TO_END_ROWS):
        row = tables.row(metric)
        if row.predicted is None or row.standard_error is None:
            table.add_row(metric, "no blocks", "", "", "")
            continue
        published = "" if row.published is None else fixed(row.published, 5)
        error = "" if row.relative_error is None else f"{_in_percent(row.relative_error)} %"
        table.add_row(metric, fixed(row.predicted, 5), fixed(row.standard_error, 5), published, error)
    return table


def print_validation(name: str, tables: Tables) -> None:
    """Prints the table of a profile on standard output."""
    print_table(validation_table(name, tables))


def print_columns(columns: Sequence[tuple[str, str, Tables]]) -> None:
    """Prints a line per column of published reports: by how many percent each end-to-end row is predicted too high.

    Args:
        columns: When a run began, what to call it, and what is predicted of it beside what was published.
    """
    rows = ("Fetch duration", "Fetched to sending", *END_TO_END_ROWS)
    table = Table(title="Predicted less published, in % of published", title_justify="left", box=None, pad_edge=False)
    for column in ("began", "column"):
        table.add_column(column)
    for metric in (*rows, "farthest adoption"):
        table.add_column(metric.removesuffix(" adoption") if metric in END_TO_END_ROWS else metric, justify="right")
    farthest = []
    for began, name, tables in columns:
        errors = {metric: tables.row(metric).relative_error for metric in rows}
        of_adoption = [error for metric in END_TO_END_ROWS if (error := errors[metric]) is not None]
        most = max(of_adoption, key=abs, default=None)
        farthest.append(most)
        table.add_row(began, one_name(name), *(_in_percent(error) for error in (*errors.values(), most)))
    print_table(table)
    known = [abs(one) for one in farthest if one is not None]
    within = ", ".join(f"{sum(one <= limit for one in known)} within {percent(limit)}" for limit in (0.03, 0.05))
    print_table(f"0.50 to 1.00 adoption of {len(known)} columns: {within}.")


def _in_percent(error: float | None) -> str:
    return "" if error is None else fixed(100 * error, 1, sign=True)


def live_validation_document(found: "Validation") -> "Document":
    """A live run beside its simulation: the stages that were measured, a verdict per row, and the warnings of the run."""
    from slotmark.benches.cluster.live.validating import AGREES_WITHIN
    from slotmark.numbers import change_with_span, percent
    from slotmark.report.document import Cell, Document, Paragraph, Section, Warnings, left, right
    from slotmark.report.document import Table as DocumentTable

    stages = DocumentTable(
        "Stages of the live run",
        [*left("stage"), *right("mean, ms", "sigma")],
        [
            [Cell(stage.name), Cell(fixed(stage.mean_ns / 1e6, 3)), Cell(fixed(stage.sigma, 2))]
            for stage in found.stages
        ],
    )
    rows = []
    for row in found.rows:
        ratio = row.difference and Interval(*(1 + end for end in msgspec.structs.astuple(row.difference)))
        rows.append(
            [
                Cell(_named(row.names)),
                Cell(f"{row.blocks:,}"),
                Cell(_in_ms(row.measured, row.measured_error)),
                Cell(_in_ms(row.simulated, row.simulated_error)),
                Cell("-" if ratio is None else change_with_span(ratio)),
                Cell(row.verdict),
            ]
        )
    titles = ("blocks", "measured, ms", "simulated, ms", "difference")
    beside = DocumentTable(
        f"{found.blocks:,} blocks measured, {found.simulated_blocks:,} simulated",
        [*left("metric"), *right(*titles), *left("verdict")],
        rows,
        [
            f"agrees: all of the interval lies within {percent(AGREES_WITHIN)}; differs: none of it; unclear: run for longer. Means with one standard "
            "error; intervals hold together at 95 %. Metrics with the same samples, as centiles that one host makes, are one row."
        ],
    )
    count = {verdict: sum(row.verdict == verdict for row in found.rows) for verdict in ("agrees", "differs", "unclear")}
    note = (
        f"Of {len(found.rows)} different numbers over {found.blocks:,} blocks, {count['agrees']} agree within {percent(AGREES_WITHIN)}, "
        f"{count['differs']} differ, {count['unclear']} are unclear."
    )
    sections = [
        Section("", [stages, beside, Paragraph(note)], brief=True),
        *([Section("Warnings", [Warnings(found.warnings)], brief=True)] if found.warnings else []),
    ]
    return Document("The simulator compared with a live run", "", sections)


def _in_ms(mean_s: float | None, error_s: float | None) -> str:
    """A mean with its standard error, in ms."""
    if mean_s is None:
        return "-"
    return " ± ".join(fixed(1e3 * one, 1) for one in (mean_s, error_s) if one is not None)


def _named(names: Sequence[str]) -> str:
    """The name of a metric, or of the first and the last of several that are one number."""
    if len(names) == 1:
        return names[0]
    first, last = (name.split(" ") for name in (names[0], names[-1]))
    return f"{' '.join(first[:1] if first[1:] == last[1:] else first)} to {' '.join(last)}"
