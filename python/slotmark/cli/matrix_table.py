"""Table of `slotmark ledger run MATRIX`: every cell, and the commands that compare the targets of each fragment."""

from collections.abc import Iterator, Sequence

from rich.table import Table

from slotmark.benches.ledger.matrix import Cell
from slotmark.cleaning import one_line
from slotmark.cli.session import compare_command
from slotmark.metrics import samples
from slotmark.numbers import number
from slotmark.run import Run

TOTAL = "total_us"
"""The metric that the table shows, summed over blocks."""

_HOW = {"measured": "measured", "there": "was there", "failed": "failed"}


def matrix_table(cells: Sequence[Cell]) -> Table:
    """A row per cell: the mean over processes of what all blocks together took, and where the run is."""
    table = Table(box=None, pad_edge=False)
    for column in ("fragment", "target"):
        table.add_column(column)
    for column in ("processes", "ms per process"):
        table.add_column(column, justify="right")
    table.add_column("")
    table.add_column("run", overflow="fold")
    for cell in cells:
        processes = cell.run.manifest.tables["processes"] if cell.run else 0
        spent = "" if cell.run is None else number(_total_us(cell.run) / processes / 1e3)
        row = (
            cell.fragment,
            cell.target,
            str(processes),
            spent,
            _HOW[cell.how],
            str(cell.run.place if cell.run else ""),
        )
        table.add_row(*map(one_line, row))
    return table


def _total_us(run: Run) -> float:
    return float(samples(run, TOTAL).table["value"].to_numpy().sum())


def commands(cells: Sequence[Cell]) -> Iterator[str]:
    """Yields the commands that compare the targets of each fragment that has two or more."""
    for fragment in dict.fromkeys(cell.fragment for cell in cells):
        runs = [cell.run for cell in cells if cell.run and cell.fragment == fragment]
        if len(runs) > 1:
            yield f"Compare {fragment}: {compare_command(runs)}"
