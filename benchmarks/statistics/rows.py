"""Rows of tables, each computed by itself: by one call, or by several that share them.

SCRIPT [repetitions] [--shard N/OF -o FOLDER | --merge FOLDER]
"""

import argparse
import inspect
import sys
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

from slotmark.engine import Piece, Shard, gathered, local, opened, shard_done
from slotmark.errors import SlotmarkError
from slotmark.places import Place


class Asked:
    """The request of a script's command line.

    Attributes:
        repetitions: The number of repetitions of each row.
        shard: The shard of rows that is computed and kept; empty where all are printed.
    """

    def __init__(self, default: int) -> None:
        parser = argparse.ArgumentParser()
        parser.add_argument("repetitions", nargs="?", type=int, default=default)
        parser.add_argument("--shard", metavar="N/OF", default="", help="compute only the N-th of OF parts of the rows")
        parser.add_argument("-o", dest="out", metavar="FOLDER", type=Path, help="of --shard: where rows are kept")
        parser.add_argument("--merge", metavar="FOLDER", type=Path, help="print the rows that shards kept there")
        given = parser.parse_args()
        if bool(given.shard) != (given.out is not None) or (given.shard and given.merge):
            parser.error("expected --shard N/OF -o FOLDER, or --merge FOLDER, or neither")
        self.repetitions: int = given.repetitions
        self.shard: str = given.shard
        self._folder: Path | None = given.out or given.merge

    def print_rows(self, row: Callable[..., str], places: Iterable[tuple[Any, ...]]) -> None:
        """Prints a row per place of a table, in order, each as soon as it and all before it are known; of a shard only what was done.

        Args:
            row: A function of a module; returns a row.
            places: Arguments of each.
        """
        pieces = [Piece(work=row, inputs=place, label=f"row {number}") for number, place in enumerate(places, start=1)]
        if self._folder is None:
            local(pieces, _printed)
            return
        name = f"{Path(inspect.getfile(row)).stem}.{row.__name__}"
        folder, options = self._folder / name, {"repetitions": self.repetitions}
        try:
            if self.shard:
                done = shard_done(self.shard, folder, name, options, lambda engine: engine(pieces, _printed))
                print(
                    f"Shard {done.shard}: {done.pieces} rows finished, {done.found} of them before; {done.missing} missing."
                )
                return
            gathered(folder, opened(folder), self._command)(pieces, _printed)
        except SlotmarkError as error:
            sys.exit(f"{error}")

    def _command(self, shard: Shard, _folder: Place) -> str:
        return f"this script with {self.repetitions} --shard {shard} -o {self._folder}"


def _printed(rows: Iterator[str]) -> None:
    for row in rows:
        print(row, flush=True)
