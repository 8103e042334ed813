"""The content of recorded totals: the five operations, or the reading of the UTxO table too.

db-analyser includes the table read since August 2026 (commit 0ebd397da; the columns came two days before, in 3dd0aca3a, when
the total didn't hold it yet). Nothing in a file says so, but the parts of a total can't be more than the total.
"""

from enum import StrEnum

import msgspec
import numpy as np

from slotmark.benches.ledger.recordings.recorded import PHASES, REPLAY_PHASES, Recorded, refuse


class Totals(StrEnum):
    """The content of totals."""

    operations = "the five operations"
    with_table_read = "the five operations and the table read"


def totals_of(recorded: Recorded) -> str:
    """The content of the totals of a file: one of :class:`Totals`, or the phases of an engine that writes JSON lines.

    Flushing is left out: a set in memory has none, and is to be compared with one on disk.
    """
    columns = recorded.columns
    if "total_ns" in columns:
        phases = [phase for phase in REPLAY_PHASES if phase != "flush" and f"{phase}_ns" in columns]
        return f"{recorded.facts.engine.partition(' ')[0]}: {', '.join(phases) or 'not recorded'}"
    if recorded.table_read_subtracted or "table_read_us" not in columns or not columns["table_read_us"].any():
        return Totals.operations
    parts = [columns[name] for name in (*PHASES, "mut_table_read_us") if name in columns]
    whole = columns["mut_us"] if "mut_us" in columns and "mut_table_read_us" in columns else columns["total_us"]
    # Every part is cut to whole microseconds, so their sum is never above the whole that holds them.
    return Totals.operations if bool(np.any(np.sum(parts, axis=0) > whole)) else Totals.with_table_read


def without_table_read(recorded: Recorded) -> Recorded:
    """The same with totals of the five operations alone: the table read taken out of total, mutator and GC.

    Raises:
        ImportFileError: A block's table read is longer than its total.
    """
    if totals_of(recorded) != Totals.with_table_read:
        return recorded
    columns = dict(recorded.columns)
    read = columns["table_read_us"]
    mutator = columns.get("mut_table_read_us")
    taken = {"total_us": read}
    if mutator is not None:
        taken |= {"mut_us": mutator, "gc_us": np.maximum(read - mutator, 0)}
    for name, part in taken.items():
        if name not in columns:
            continue
        left = columns[name] - part
        # Each figure is cut to whole microseconds by itself: a microsecond below 0 is rounding.
        if left.min() < -2:
            index = int(left.argmin())
            refuse(
                recorded.row(index),
                f"its table read, {part[index]} us, is longer than '{name}', {columns[name][index]} us",
                "The file was changed by hand: use it as db-analyser wrote it.",
            )
        columns[name] = np.maximum(left, 0)
    return msgspec.structs.replace(recorded, columns=columns, table_read_subtracted=True)
