"""From recorded files to a run folder, one per target: each file is one process."""

import hashlib
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path

import msgspec
import numpy as np
import pyarrow as pa

from slotmark.benches.ledger.recordings.reading import Source, read_file
from slotmark.benches.ledger.recordings.recorded import Recorded, refuse
from slotmark.benches.ledger.runs import (
    BENCH,
    UNKNOWN,
    blocks_table,
    distinct,
    hashed,
    process_of,
    processes_table,
    recorded_with,
    warnings_of,
    workload_of,
)
from slotmark.benches.ledger.totals import Totals, totals_of, without_table_read
from slotmark.errors import ArgumentError
from slotmark.measure.manifest import NewRun, write_runs
from slotmark.measure.session import Head
from slotmark.run import MachineFacts, Run, Target
from slotmark.run.folder import refuse_existing
from slotmark.run.manifest import FACTORS

_NO_CHANCE = 10
"""The number of blocks from which on two processes don't have the same totals by chance."""

_SHOWN = 3


class Recording(msgspec.Struct, frozen=True, kw_only=True):
    """A target with its files.

    Attributes:
        target: Its name.
        files: Each one process of it.
        factors: What distinguishes it from others, as ``{"ghc": "9.6", "branch": "baseline"}``.
        out: The new run folder.
        commit: Commit of the build; empty where the files have it.
    """

    target: str
    files: Sequence[Path]
    factors: Mapping[str, str]
    out: Path
    commit: str = ""


def import_recordings(
    recordings: Sequence[Recording],
    *,
    subtract_table_read: bool = False,
    machine: MachineFacts = UNKNOWN,
    session: str = "",
) -> list[Run]:
    """Imports targets that are to be compared; either all run folders are there in the end, or none.

    Args:
        recordings: One per target, with one file or more each.
        subtract_table_read: Whether to take the table read out of totals that hold it.
        machine: Where the files were recorded.
        session: Name of the session of targets that were recorded together, interleaved; empty where they weren't.

    Raises:
        ArgumentError: A target has no files, or targets have other factors.
        ImportFileError: A file is damaged, or files hold other blocks or other totals than the first.
        RunError: A run is already there, or there's no room.
    """
    _refuse_uneven_factors(recordings)
    for recording in recordings:
        refuse_existing(recording.out)
    read: list[tuple[Recording, list[Source]]] = []
    first: Recorded | None = None
    for recording in recordings:
        sources = []
        for path in recording.files:
            source = read_file(path)
            recorded = without_table_read(source.recorded) if subtract_table_read else source.recorded
            first = first or recorded
            _refuse_other_blocks(first, recorded)
            _refuse_other_totals(first, recorded)
            for _, others in (*read, (recording, sources)):
                _refuse_twice(others, source)
            sources.append(Source(recorded, source.file))
        read.append((recording, sources))
    return write_runs(_run_of(recording, sources, machine, session, subtract_table_read) for recording, sources in read)


def _refuse_uneven_factors(recordings: Sequence[Recording]) -> None:
    for recording in recordings:
        if not recording.files:
            raise ArgumentError(f"{recording.target}: no files. Name one or more that db-analyser or beacon wrote.")
        if recording.factors.keys() != recordings[0].factors.keys():
            raise ArgumentError(
                f"{recording.target} has the factors {_listed(recording.factors)}, {recordings[0].target} has "
                f"{_listed(recordings[0].factors)}. Give every target a level of the same factors."
            )


def _refuse_other_blocks(first: Recorded, other: Recorded) -> None:
    """Raises ImportFileError where two processes didn't apply the same blocks."""
    ours, theirs = first.columns["slot"], other.columns["slot"]
    same = ours.size == theirs.size and bool((ours == theirs).all())
    if same and (first.hashes is None or other.hashes is None or first.hashes == other.hashes):
        return
    if same and first.hashes is not None and other.hashes is not None:
        index = next(
            place for place, (mine, its) in enumerate(zip(first.hashes, other.hashes, strict=True)) if mine != its
        )
        refuse(
            other.row(index),
            f"the block of slot {ours[index]} is {other.hashes[index]}, but {first.hashes[index]} in {first.path}",
            "Only processes over the same chain can be compared.",
        )
    missing, more = np.setdiff1d(ours, theirs), np.setdiff1d(theirs, ours)
    parts = [
        f"{_some(slots)} {'are' if slots.size > 1 else 'is'} only in {path}"
        for slots, path in ((missing, first.path), (more, other.path))
        if slots.size
    ]
    where = (
        other.row(int(np.flatnonzero(np.isin(theirs, more))[0]))
        if more.size
        else f"{other.path}, {other.place} {other.first + other.blocks - 1}"
    )
    refuse(
        where,
        f"other blocks than in {first.path}: {'; '.join(parts)}",
        "Only processes over the same blocks can be compared: record them with the same start and number of blocks; "
        "a file that lacks the last blocks was cut, or its process ended early.",
    )


def _refuse_other_totals(first: Recorded, other: Recorded) -> None:
    ours, theirs = totals_of(first), totals_of(other)
    if ours == theirs:
        return
    if {ours, theirs} - set(Totals):
        what = f"its totals hold {theirs}, those of {first.path} {ours}"
        refuse(
            other.row(0), what, "Times of different engines can't be put together: import each as a target of its own."
        )
    refuse(
        other.row(0),
        f"its totals hold {theirs}, those of {first.path} only {ours}"
        if len(theirs) > len(ours)
        else f"its totals hold only {theirs}, those of {first.path} hold {ours}",
        "They can't be compared as they are: import all with --subtract-table-read.",
    )


def _refuse_twice(others: Sequence[Source], source: Source) -> None:
    """Raises ImportFileError where a file holds the process of another, as the same bytes or in another format."""
    figures = source.recorded.columns["total_us"]
    for other in others:
        same = figures.size >= _NO_CHANCE and np.array_equal(figures, other.recorded.columns["total_us"])
        if same or source.file.identity == other.file.identity:
            refuse(
                source.file.path,
                f"the total of every block is the same as in {other.file.path}: it's one process, and must count once",
                "Leave one out. (The beacon of 2023 doesn't record again where its file exists.)",
            )


def _run_of(
    recording: Recording,
    sources: Sequence[Source],
    machine: MachineFacts,
    session: str,
    subtract_table_read: bool,
) -> NewRun:
    processes = [process_of(source.recorded) for source in sources]
    facts = [process.facts for process in processes]
    content = hashlib.sha256("".join(source.file.sha256 for source in sources).encode()).hexdigest()[:12]
    hosts = distinct(facts, "host")
    if machine == UNKNOWN and len(hosts) == 1:
        machine = msgspec.structs.replace(machine, hostname_hash=hashed(hosts[0]))
    systems = distinct(facts, "system")
    if machine.system == "unknown" and len(systems) == 1:
        machine = msgspec.structs.replace(machine, system=systems[0])
    commits = distinct(facts, "commit")
    stated = {at: instant for at in distinct(facts, "started") if (instant := _instant(at))}
    times = sorted(stated, key=stated.__getitem__) or sorted(_written(path) for path in recording.files)
    tables = [blocks_table(source.recorded, run) for run, source in enumerate(sources, start=1)]
    return NewRun(
        folder=recording.out,
        head=Head(session=session or content, machine=machine, started=times[0], asked={}),
        ended=times[-1],
        bench=BENCH,
        origin="imported",
        target=Target(
            recording.target,
            version="",
            language="Haskell",
            commit=recording.commit or ", ".join(commits),
            toolchain=", ".join(distinct(facts, "compiler")),
        ),
        workload=workload_of(processes),
        parameters={
            FACTORS: recording.factors,  # they differ on purpose, as whatever starts with `target`
            "processes": len(recording.files),
            **({"table read subtracted": "yes"} if subtract_table_read else {}),
            **recorded_with(processes),
        },
        tables={"blocks": pa.concat_tables(tables).combine_chunks(), "processes": processes_table(processes)},
        sources=[source.file for source in sources],
        warnings=warnings_of(recording.target, processes, machine),
    )


def _some(slots: np.ndarray) -> str:
    shown = ", ".join(str(slot) for slot in slots[:_SHOWN])
    more = f" and {slots.size - _SHOWN:,} more" if slots.size > _SHOWN else ""
    return f"{'slots' if slots.size > 1 else 'slot'} {shown}{more}"


def _listed(factors: Mapping[str, str]) -> str:
    return ", ".join(factors) or "(none)"


def _instant(at: str) -> datetime | None:
    """Returns the time that a text is, in UTC where it names no zone; None where it is none."""
    try:
        found = datetime.fromisoformat(at)
    except ValueError:
        return None
    return found if found.tzinfo else found.replace(tzinfo=UTC)


def _written(path: Path) -> str:
    """Returns when a file was last written: a process whose record has no time of its own ended then."""
    return datetime.fromtimestamp(int(path.stat().st_mtime), UTC).isoformat(timespec="seconds")
