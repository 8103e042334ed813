"""One recorded process: what a db-analyser or beacon file holds, whatever its age and form."""

from collections.abc import Sequence
from typing import Annotated, NoReturn

import msgspec
import numpy as np

from slotmark.errors import ImportFileError

FIELDS = {
    "slot": "slot",
    "blockNo": "block_no",
    "slotGap": "slot_gap",
    "totalTime": "total_us",
    "mut": "mut_us",
    "gc": "gc_us",
    "tableReadTime": "table_read_us",
    "mut_tableRead": "mut_table_read_us",
    "majGcCount": "major_gcs",
    "minGcCount": "minor_gcs",
    "allocatedBytes": "allocated_bytes",
    "mut_forecast": "forecast_us",
    "mut_headerTick": "header_tick_us",
    "mut_headerApply": "header_apply_us",
    "mut_blockTick": "block_tick_us",
    "mut_blockApply": "block_apply_us",
    "blockBytes": "block_bytes",  # its name in tab-separated files
    "blockByteSize": "block_bytes",  # and in JSON
}
"""db-analyser's names of all ages, and the columns of ours that they go to."""

NEEDED = ("slot", "totalTime")
"""Without these a file is no record of ledger operations; any other may be missing."""

STATISTICS = ("transactions", "transaction_bytes", "script_steps")
"""The era's own figures that follow the named ones: two up to Mary, three from Alonzo on."""

PHASES = ("forecast_us", "header_tick_us", "header_apply_us", "block_tick_us", "block_apply_us")
"""The five operations, in order."""

REPLAY_PHASES = (
    *("read", "decode", "tick", "header_check", "resolve", "accounts"),
    *("phase_one", "phase_two", "apply", "flush"),
)
"""The phases that engines by docs/replay.md time, in the order of the work; any of them may be missing."""

LARGEST = 2**63 - 1

DIGITS = len(str(LARGEST))
"""Digits of a figure at most: Python's int refuses those of thousands."""

Whole = Annotated[int, msgspec.Meta(ge=0, le=LARGEST)]


class Used(msgspec.Struct, frozen=True, kw_only=True):
    """Resources that a process used beside its time by block; None where it isn't known.

    Attributes:
        entries: Unspent outputs in the end.
        digest: Digest of them, in hex.
        load_ns: Loading the first of them.
        elapsed_ns: From the first block to the last, with what isn't timed between them, without idle time.
        disk_bytes: What they take on disk.
        read_bytes: Read from storage.
        written_bytes: Sent to storage.
        minor_faults: Page faults without reading from storage.
        major_faults: Page faults that read from storage.
        user_us: CPU time in the program.
        system_us: CPU time in the kernel.
    """

    entries: Whole | None = None
    digest: str | None = None
    load_ns: Whole | None = None
    elapsed_ns: Whole | None = None
    disk_bytes: Whole | None = None
    read_bytes: Whole | None = None
    written_bytes: Whole | None = None
    minor_faults: Whole | None = None
    major_faults: Whole | None = None
    user_us: Whole | None = None
    system_us: Whole | None = None


class Facts(msgspec.Struct, frozen=True, kw_only=True):
    """Facts in a file about its process; empty where it has none.

    Attributes:
        engine: The program that did the work, with its version.
        compiler: As ``ghc-9.6``.
        commit: Commit of the consensus repository.
        mode: ``full-application`` or ``reapplication``.
        backend: Where the UTxO set was held.
        chain: beacon's name of the chain.
        host: The machine's name, to be hashed.
        system: Operating system and architecture.
        runtime: Settings of the Haskell runtime, in words.
        started: Time in the file.
        peak_bytes: Largest resident set.
        used: What else it used.
    """

    engine: str = ""
    compiler: str = ""
    commit: str = ""
    mode: str = ""
    backend: str = ""
    chain: str = ""
    host: str = ""
    system: str = ""
    runtime: str = ""
    started: str = ""
    peak_bytes: int | None = None
    used: Used = Used()


class Recorded(msgspec.Struct, frozen=True, kw_only=True):
    """One process.

    Attributes:
        path: The file, as named.
        format: In words.
        place: What a row is called in errors: ``line`` or ``block``.
        first: The number of the first row there.
        columns: Our column names to whole numbers, shape (blocks,); a figure that the file lacks is not here, and one that
            only some rows have is -1 in the others.
        hashes: Block hashes; None where the file has none.
        unknown: Names in the file that aren't kept.
        facts: Facts of the process in it.
        table_read_subtracted: Whether the table read was taken out of its totals.
    """

    path: str
    format: str
    place: str
    first: int
    columns: dict[str, np.ndarray]
    hashes: list[str] | None = None
    unknown: tuple[str, ...] = ()
    facts: Facts = Facts()
    table_read_subtracted: bool = False

    @property
    def blocks(self) -> int:
        """The number of blocks."""
        return self.columns["slot"].size

    def row(self, index: int) -> str:
        """The place of a row, for errors."""
        return f"{self.path}, {self.place} {self.first + index}"


def refuse(where: str, what: str, remedy: str) -> NoReturn:
    """Raises ImportFileError."""
    raise ImportFileError(f"{where}: {what}. {remedy}")


def checked_order(recorded: Recorded) -> Recorded:
    """The same, once it's sure that slots rise: one row per block, in the order of the chain.

    Raises:
        ImportFileError: A slot is there twice, or comes after a later one.
    """
    slots = recorded.columns["slot"]
    steps = np.diff(slots)
    if steps.size == 0 or steps.min() > 0:
        return recorded
    order = np.argsort(slots, kind="stable")
    again = np.flatnonzero(np.diff(slots[order]) == 0)
    if again.size:
        earlier, later = (int(order[again[0] + step]) for step in (0, 1))
        refuse(
            recorded.row(later),
            f"slot {slots[later]} was there before, in {recorded.place} {recorded.first + earlier}",
            "One file is one process, with one row per block: leave out rows of a second one "
            "(Byron's epoch boundary blocks share a slot with the next block and can't be imported).",
        )
    index = int(np.flatnonzero(steps < 0)[0]) + 1
    refuse(
        recorded.row(index),
        f"slot {slots[index]} comes after slot {slots[index - 1]}",
        "db-analyser writes blocks in the order of the chain: this file was sorted or put together by hand.",
    )


def from_slot(recorded: Recorded, slot: int) -> Recorded:
    """The same without the rows of blocks before a slot, unless nothing were left."""
    first = int(np.searchsorted(recorded.columns["slot"], slot))
    if first in (0, recorded.blocks):
        return recorded
    return msgspec.structs.replace(
        recorded,
        first=recorded.first + first,
        columns={name: values[first:] for name, values in recorded.columns.items()},
        hashes=None if recorded.hashes is None else recorded.hashes[first:],
    )


def statistics_columns(rows: Sequence[Sequence[int]]) -> dict[str, np.ndarray]:
    """The era's own figures of each row as columns; -1 where a row has fewer."""
    longest = max(map(len, rows), default=0)
    return {
        name: np.array([row[place] if place < len(row) else -1 for row in rows], dtype=np.int64)
        for place, name in enumerate(STATISTICS[:longest])
    }
