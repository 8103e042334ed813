"""Rows of tables, each computed by itself."""

from collections.abc import Callable, Iterable, Iterator
from typing import Any

from slotmark.engine import Piece, local


def print_rows(row: Callable[..., str], places: Iterable[tuple[Any, ...]]) -> None:
    """Prints a row per place of a table, in order, each as soon as it and all before it are known.

    Args:
        row: A function of a module; returns a row.
        places: Arguments of each.
    """
    pieces = [Piece(work=row, inputs=place, label=f"row {number}") for number, place in enumerate(places, start=1)]
    local(pieces, _printed)


def _printed(rows: Iterator[str]) -> None:
    for row in rows:
        print(row, flush=True)
