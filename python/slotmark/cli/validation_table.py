"""What `slotmark simulate --validate` and `slotmark cluster validate` show: simulated beside published, and beside measured."""

from typing import TYPE_CHECKING

from rich.console import Console
from rich.table import Table

from slotmark.benches.cluster.simulate import END_TO_END_ROWS, PEER_ROWS, Tables

if TYPE_CHECKING:
    from slotmark.benches.cluster.live.validating import Validation


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
        published = "" if row.published is None else f"{row.published:.5f}"
        error = "" if row.relative_error is None else f"{100 * row.relative_error:+.1f} %"
        table.add_row(metric, f"{row.predicted:.5f}", f"{row.standard_error:.5f}", published, error)
    return table


def print_validation(name: str, tables: Tables) -> None:
    """Prints the table of a profile on standard output."""
    Console(highlight=False).print(validation_table(name, tables))


def print_live_validation(found: "Validation") -> None:
    """Prints a live run beside its simulation: the stages that were measured, and what came of them."""
    stages = Table(
        title="Stages of the live run",
        title_justify="left",
        box=None,
        pad_edge=False,
    )
    stages.add_column("stage", no_wrap=True)
    for column in ("mean, ms", "sigma"):
        stages.add_column(column, justify="right")
    for stage in found.stages:
        stages.add_row(stage.name, f"{stage.mean_ns / 1e6:.3f}", f"{stage.sigma:.2f}")
    table = Table(
        title=f"{found.blocks:,} blocks measured, {found.simulated_blocks:,} simulated",
        title_justify="left",
        box=None,
        pad_edge=False,
    )
    table.add_column("metric", no_wrap=True)
    for column in ("measured, s", "± 1 s.e.", "simulated, s", "± 1 s.e.", "error"):
        table.add_column(column, justify="right")
    for row in found.rows:
        cells = (row.measured, row.measured_error, row.simulated, row.simulated_error)
        shown = ["-" if value is None else f"{value:.4f}" for value in cells]
        error = "-" if row.relative_error is None else f"{100 * row.relative_error:+.1f} %"
        table.add_row(row.name, *shown, error)
    console = Console(highlight=False)
    console.print(stages)
    console.print()
    console.print(table)
