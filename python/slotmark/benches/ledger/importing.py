"""From recorded files to a run folder, one a target: each file is one process."""

import hashlib
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pyarrow as pa

from slotmark.benches.ledger import doubts
from slotmark.benches.ledger.reading import Source, read_file
from slotmark.benches.ledger.recorded import Facts, Recorded, refuse
from slotmark.benches.ledger.tables import BLOCKS, PROCESSES
from slotmark.benches.ledger.totals import totals_of, without_table_read
from slotmark.errors import ArgumentError
from slotmark.run import MachineFacts, Manifest, Run, RunWriter, Target
from slotmark.run.folder import refuse_existing
from slotmark.versions import versions
from slotmark.warnings import Warning

BENCH = "ledger"
ENOUGH_PROCESSES = 2
_NO_CHANCE = 10
"""From so many blocks on, two processes don't have the same totals by chance."""

_SHOWN = 3

UNKNOWN = MachineFacts(
    cpu="unknown",
    cores=0,
    governor="unknown",
    memory_bytes=0,
    kernel="unknown",
    system="unknown",
    virtualisation="unknown",
    load=0.0,
    hostname_hash="unknown",
)
"""The machine of files that don't name it: the one that imports has nothing to do with it."""


class Recording(msgspec.Struct, frozen=True, kw_only=True):
    """A target with its files.

    Attributes:
        target: Its name.
        files: Each one process of it.
        factors: What distinguishes it from others, as ``{"ghc": "9.6", "branch": "baseline"}``.
        out: The new run folder.
        commit: Of the build; empty where the files say it.
    """

    target: str
    files: list[Path]
    factors: dict[str, str]
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
        recordings: One a target, with one file or more each.
        subtract_table_read: Whether to take the table read out of totals that hold it.
        machine: Where the files were recorded.
        session: Of targets that were recorded together, interleaved; empty where they weren't.

    Raises:
        ArgumentError: A target has no files, or targets have other factors.
        ImportFileError: A file is damaged, or files hold other blocks or other totals than the first.
        RunError: A run is already there, or there's no room.
    """
    _refuse_uneven_factors(recordings)
    for recording in recordings:
        refuse_existing(recording.out)
    began = _now()
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
    with ExitStack() as stack:
        finishing = []
        for recording, sources in read:
            writer = stack.enter_context(RunWriter(recording.out))
            writer.table("blocks", _blocks([source.recorded for source in sources]))
            writer.table("processes", _processes(sources))
            finishing.append(
                (writer, _manifest(recording, sources, machine, session, (began, _now()), subtract_table_read))
            )
        return [writer.finish(manifest) for writer, manifest in finishing]


def factors_of(texts: Sequence[str]) -> dict[str, str]:
    """Factors from arguments such as ``ghc=9.6``; ArgumentError where one isn't of that form or is there twice."""
    factors: dict[str, str] = {}
    for text in texts:
        name, equals, level = (part.strip() for part in text.partition("="))
        if not (name and equals and level):
            raise ArgumentError(f"--factor '{text}': expected NAME=LEVEL, as in ghc=9.6.")
        if name in factors:
            raise ArgumentError(f"--factor '{text}': '{name}' was given before, as {factors[name]}. Leave one out.")
        factors[name] = level
    return factors


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
    if ours is not theirs:
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


def _blocks(processes: Sequence[Recorded]) -> pa.Table:
    tables = []
    for run, recorded in enumerate(processes, start=1):
        columns = []
        for field in BLOCKS:
            if field.name == "run":
                columns.append(pa.array(np.full(recorded.blocks, run, dtype=np.int32)))
            elif field.name == "hash":
                columns.append(pa.array(recorded.hashes or [None] * recorded.blocks, pa.string()))
            elif field.name in recorded.columns:
                values = recorded.columns[field.name]
                columns.append(pa.array(values, pa.int64(), mask=values < 0))
            else:
                columns.append(pa.nulls(recorded.blocks, field.type))
        tables.append(pa.table(columns, schema=BLOCKS))
    return pa.concat_tables(tables).combine_chunks()


def _processes(sources: Sequence[Source]) -> pa.Table:
    rows = []
    for run, source in enumerate(sources, start=1):
        facts = source.recorded.facts
        rows.append(
            {
                "run": run,
                "file": source.file.path,
                "format": source.recorded.format,
                "blocks": source.recorded.blocks,
                "compiler": facts.compiler or None,
                "commit": facts.commit or None,
                "mode": facts.mode or None,
                "backend": facts.backend or None,
                "chain": facts.chain or None,
                "host": _hashed(facts.host) or None,
                "started": facts.started or None,
                "peak_bytes": facts.peak_bytes,
            }
        )
    return pa.Table.from_pylist(rows, schema=PROCESSES)


def _manifest(
    recording: Recording,
    sources: Sequence[Source],
    machine: MachineFacts,
    session: str,
    times: tuple[str, str],
    subtract_table_read: bool,
) -> Manifest:
    processes = [source.recorded for source in sources]
    facts = [recorded.facts for recorded in processes]
    content = hashlib.sha256("".join(source.file.sha256 for source in sources).encode()).hexdigest()[:12]
    hosts = _distinct(facts, "host")
    if machine == UNKNOWN and len(hosts) == 1:
        machine = msgspec.structs.replace(machine, hostname_hash=_hashed(hosts[0]))
    systems = _distinct(facts, "system")
    if machine.system == "unknown" and len(systems) == 1:
        machine = msgspec.structs.replace(machine, system=systems[0])
    commits = _distinct(facts, "commit")
    started = sorted(_distinct(facts, "started"))
    session = session or content
    return Manifest(
        id=f"{session}-{recording.target}",
        bench=BENCH,
        origin="imported",
        target=Target(
            recording.target,
            version="",
            language="Haskell",
            commit=recording.commit or ", ".join(commits),
            toolchain=", ".join(_distinct(facts, "compiler")),
        ),
        workload=_workload(processes),
        parameters=_parameters(recording, facts, subtract_table_read),
        session=session,
        machine=machine,
        started=started[0] if started else times[0],
        ended=started[-1] if started else times[1],
        versions=versions(),
        sources=[source.file for source in sources],
        tables={},
        warnings=_warnings(recording.target, sources, machine),
    )


def _workload(processes: Sequence[Recorded]) -> dict[str, str]:
    """What must be equal between two runs to be compared."""
    first = processes[0]
    slots = first.columns["slot"]
    facts = [recorded.facts for recorded in processes]
    modes, chains = _distinct(facts, "mode"), _distinct(facts, "chain")
    hashes = hashlib.sha256("".join(first.hashes).encode()).hexdigest()[:16] if first.hashes else ""
    work = {
        "chain": ", ".join(chains),
        "blocks": f"{slots.size:,}",
        "first slot": str(slots[0]),
        "last slot": str(slots[-1]),
        "digest of slots": hashlib.sha256(slots.astype("<i8").tobytes()).hexdigest()[:16],
        "digest of hashes": hashes,
        "mode": ", ".join(modes),
        "totals": str(totals_of(first)),
    }
    return {name: value for name, value in work.items() if value}


def _parameters(recording: Recording, facts: Sequence[Facts], subtract_table_read: bool) -> dict[str, Any]:
    """How it was recorded; the factors differ on purpose, as whatever starts with ``target``."""
    return {
        "target factors": recording.factors,
        "processes": len(recording.files),
        **({"table read subtracted": "yes"} if subtract_table_read else {}),
        **{
            name: ", ".join(values)
            for name, values in (("backend", _distinct(facts, "backend")), ("runtime", _distinct(facts, "runtime")))
            if values
        },
    }


def _warnings(target: str, sources: Sequence[Source], machine: MachineFacts) -> list[Warning]:
    processes = [source.recorded for source in sources]
    facts = [recorded.facts for recorded in processes]
    found = [doubts.one_process(target)] if len(processes) < ENOUGH_PROCESSES else []
    if machine.cpu == "unknown":
        found.append(doubts.machine_unknown(target))
    for what, words in (
        ("compiler", "the compiler"),
        ("commit", "the commit"),
        ("mode", "the mode"),
        ("backend", "the backend"),
        ("chain", "the chain's name"),
        ("runtime", "the runtime's settings"),
        ("host", "the machine"),
    ):
        values = _distinct(facts, what)
        if len(values) > 1:
            found.append(
                doubts.processes_differ(
                    target, words, [_hashed(value) for value in values] if what == "host" else values
                )
            )
    unknown = list(dict.fromkeys(name for recorded in processes for name in recorded.unknown))
    if unknown:
        found.append(doubts.unknown_columns(target, unknown))
    share = max(map(_at_odds, processes))
    if share > 0:
        found.append(doubts.totals_at_odds(target, share))
    return found


def _at_odds(recorded: Recorded) -> float:
    """The share of blocks whose total isn't the mutator's time plus GC; each is cut to whole microseconds by itself."""
    columns = recorded.columns
    if "mut_us" not in columns or "gc_us" not in columns:
        return 0.0
    return float((np.abs(columns["total_us"] - columns["mut_us"] - columns["gc_us"]) > 2).mean())


def _distinct(facts: Sequence[Facts], name: str) -> list[str]:
    return list(dict.fromkeys(filter(None, (getattr(one, name) for one in facts))))


def _hashed(host: str) -> str:
    """Tells machines apart without naming them."""
    return hashlib.sha256(host.encode()).hexdigest()[:12] if host else ""


def _some(slots: np.ndarray) -> str:
    shown = ", ".join(str(slot) for slot in slots[:_SHOWN])
    more = f" and {slots.size - _SHOWN:,} more" if slots.size > _SHOWN else ""
    return f"{'slots' if slots.size > 1 else 'slot'} {shown}{more}"


def _listed(factors: Mapping[str, str]) -> str:
    return ", ".join(factors) or "(none)"


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")
