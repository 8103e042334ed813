"""One process that works on a store alone, what it wrote, and what else its program measures: the disk, and whether stores can be trusted."""

from collections.abc import Sequence
from pathlib import Path
from typing import TypeVar

import msgspec
import numpy as np

from slotmark.benches.ledger.invocation import run_once
from slotmark.errors import TargetError
from slotmark.measure.limits import Limited
from slotmark.measure.process import answer, how_ended, last_words
from slotmark.measure.shipped import built_program
from slotmark.temporary import FolderForAWhile

T = TypeVar("T")

PROGRAM = "slotmark-stores"

OF_A_BATCH = 256
"""Look-ups of a batch, inserts, and deletes: a 64 kB block with transactions of 512 bytes, 2 inputs and 2 outputs each."""

KILLS = 3
"""Processes that are killed for the proof of a store."""

DISK_BYTES = 1 << 30
"""Size of the file in which blocks are read at random."""

EACH_MS = 2000
"""Time of these reads at each of two queue depths."""

_LARGEST_LINE = 10_000


class Work(msgspec.Struct, frozen=True, kw_only=True):
    """The work of a process.

    Attributes:
        name: The target's.
        store: The store.
        entries: Those before the first batch.
        batches: How many.
        pipelined: Whether look-ups of a batch go on while the changes of the one before are written.
        readers: Threads that look up.
        seed: Of all keys and batches.
    """

    name: str
    store: str
    entries: int
    batches: int
    pipelined: bool
    readers: int
    seed: int


class DiskReads(msgspec.Struct, frozen=True):
    """Random reads of 4 KiB at a queue depth: how many, in how many ns."""

    depth: int
    reads: int
    ns: int

    @property
    def per_s(self) -> float:
        """Reads per second."""
        return self.reads * 1e9 / self.ns


class _Process(msgspec.Struct, frozen=True, tag_field="record", tag="process"):
    version: str
    store: str


class _Batch(msgspec.Struct, frozen=True, tag_field="record", tag="batch"):
    latency_ns: int
    lookups_ns: int
    updates_ns: int


class _End(msgspec.Struct, frozen=True, kw_only=True, tag_field="record", tag="end"):
    batches: int
    load_ns: int
    elapsed_ns: int
    entries: int
    disk_bytes: int | None
    page_cache_bytes: int | None
    peak_bytes: int | None
    read_bytes: int | None
    written_bytes: int | None
    minor_faults: int
    major_faults: int
    user_us: int
    system_us: int


class Worked(msgspec.Struct, frozen=True, kw_only=True):
    """The record of a process.

    Attributes:
        version: Of the program.
        library: The store's library with its version.
        wall_ns: From its start to its end.
        times: Latency, look-ups and updates of each batch in ns; shape (batches, 3).
        end: What it used as a whole.
    """

    version: str
    library: str
    wall_ns: int
    times: np.ndarray
    end: _End


def program() -> str:
    """The path of the program; TargetError where it isn't built."""
    return str(built_program(PROGRAM, "the program that measures stores"))


def work(given: Work, scratch: Path, timeout_s: float, limited: Limited, *, grouped: bool) -> Worked:
    """Does the work once, in a new process and a new folder below ``scratch``, which is removed afterwards.

    Args:
        given: The work.
        scratch: The folder.
        timeout_s: Of the process.
        limited: How it is started.
        grouped: Whether it then has a control group of its own.

    Raises:
        TargetError: It failed, gave a wrong answer, took too long, or wrote something else than it should.
    """
    with FolderForAWhile(prefix="store-", dir=scratch) as folder:
        out = Path(folder) / "out.json"
        words = [
            *(program(), "work", "--backend", given.store, "--state", str(Path(folder) / "state"), "--out", str(out)),
            *("--entries", str(given.entries), "--batches", str(given.batches), "--readers", str(given.readers)),
            *("--seed", str(given.seed), *(["--pipelined"] if given.pipelined else [])),
            *(["--grouped"] if grouped else []),
        ]
        with limited() as group:
            wall_ns, _ = run_once(given.name, words, group.words, timeout_s)
        return read_work(given.name, out.read_bytes(), wall_ns, given.batches)


def read_work(name: str, data: bytes, wall_ns: int, batches: int) -> Worked:
    """The record in the lines that a process wrote; TargetError where there is something else."""
    lines = data.splitlines()
    if len(lines) < 2:
        raise TargetError(f"{name}: it ended well and recorded nothing. Measure it again.")
    head, end = _decoded(name, 1, lines[0], _Process), _decoded(name, len(lines), lines[-1], _End)
    middle = lines[1:-1]
    if not len(middle) == end.batches == batches:
        raise TargetError(f"{name}: {len(middle):,} batches are recorded, {batches:,} were to be. Measure it again.")
    decoder = msgspec.json.Decoder(_Batch)
    try:
        found = [decoder.decode(line) for line in middle]
    except msgspec.DecodeError as error:
        raise TargetError(f"{name}: what it wrote has a damaged batch ({error}). Measure it again.") from error
    times = np.array([(one.latency_ns, one.lookups_ns, one.updates_ns) for one in found], dtype=np.int64)
    return Worked(version=head.version, library=head.store, wall_ns=wall_ns, times=times.reshape(-1, 3), end=end)


def _decoded(name: str, line: int, text: bytes, kind: type[T]) -> T:
    try:
        return msgspec.json.decode(text[:_LARGEST_LINE], type=kind)
    except msgspec.DecodeError as error:
        raise TargetError(f"{name}: line {line} of what it wrote: {error}. Run `make setup`.") from error


def prove(name: str, store: str, operations: int, seed: int, scratch: Path, timeout_s: float) -> None:
    """Compares a store's answers with those of a map, kills processes that change it and looks at what they leave; TargetError where it isn't right."""
    with FolderForAWhile(prefix="proof-", dir=scratch) as folder:
        words = [
            *(program(), "prove", "--backend", store, "--state", folder, "--operations", str(operations)),
            *("--kills", str(KILLS), "--seed", str(seed)),
        ]
        run_once(name, words, (), timeout_s)


def disk_reads(scratch: Path, timeout_s: float) -> Sequence[DiskReads]:
    """Random reads of the disk that a folder is on, past the page cache, at two queue depths; TargetError where they can't be measured."""
    words = [program(), "disk", "--place", str(scratch), "--bytes", str(DISK_BYTES), "--each", str(EACH_MS)]
    found = answer("random reads of the disk", words, timeout_s)
    if found.code:
        raise TargetError(last_words(found.errors.decode("utf-8", "replace")) or how_ended(found.code))
    return msgspec.json.decode(found.out, type=list[DiskReads])
