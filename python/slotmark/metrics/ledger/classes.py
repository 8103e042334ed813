"""Classes of blocks that cost for different reasons: with a major GC or without, empty or not, small or large."""

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from slotmark.run import Run

SIZES = (10_000, 40_000)
"""Where small blocks end and large ones begin, in bytes: an empty block has some 900, a full one on mainnet some 90,000."""

LEAST = 10
"""Classes with fewer blocks are left out."""


def block_classes(runs: Sequence[Run]) -> dict[str, np.ndarray]:
    """Which blocks belong to which class, by its name in words; each shape (blocks,), in the order of slots.

    A block is one with a major GC where any process of any of the runs had one during it. Classes that hold nearly no block,
    or nearly all of them, are left out.

    Args:
        runs: Over the same blocks.
    """
    with_gc = _any_major_gc(runs)
    classes: dict[str, np.ndarray] = {}
    if with_gc is not None:
        classes |= {"with a major GC": with_gc, "without a major GC": ~with_gc}
    transactions, size = _first(runs[0], "transactions"), _first(runs[0], "block_bytes")
    if transactions is not None:
        classes |= {"empty": transactions == 0, "not empty": transactions > 0}
    if size is None:
        size = _first(runs[0], "transaction_bytes")
    if size is not None:
        small, large = SIZES
        classes |= {
            f"below {small / 1e3:.0f} kB": size < small,
            f"{small / 1e3:.0f} to {large / 1e3:.0f} kB": (size >= small) & (size < large),
            f"from {large / 1e3:.0f} kB": size >= large,
        }
    return {name: of for name, of in classes.items() if LEAST <= int(of.sum()) <= of.size - LEAST}


def _column(run: Run, name: str) -> np.ndarray | None:
    """Shape (processes, blocks); None where the run has no figure of it, or not of all blocks."""
    table = pa.concat_tables(pq.read_table(file, columns=["run", name]) for file in run.table_files("blocks"))
    if table[name].null_count:
        return None
    processes = len(table["run"].unique())
    return table[name].to_numpy().reshape(processes, -1)


def _first(run: Run, name: str) -> np.ndarray | None:
    found = _column(run, name)
    return None if found is None else found[0]


def _any_major_gc(runs: Sequence[Run]) -> np.ndarray | None:
    found = []
    for run in runs:
        counts = _column(run, "major_gcs")
        if counts is None:
            return None
        found.append((counts > 0).any(axis=0))
    return np.logical_or.reduce(found)
