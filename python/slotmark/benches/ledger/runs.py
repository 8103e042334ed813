"""From processes to the tables and the manifest of a run, whether files of them were imported or slotmark started them."""

import hashlib
from collections.abc import Sequence

import msgspec
import numpy as np
import pyarrow as pa

from slotmark.benches.ledger.recordings.recorded import Facts, Recorded
from slotmark.benches.ledger.tables import BLOCKS, PROCESSES
from slotmark.benches.ledger.totals import totals_of
from slotmark.metrics.catalogue import catalogue
from slotmark.numbers import percent
from slotmark.run import MachineFacts
from slotmark.statistics.warm_up import WarmUp, warm_up
from slotmark.warnings import Warning

BENCH = "ledger"
ENOUGH_PROCESSES = 2

_SIZES = ("block_bytes", "transactions", "inputs", "script_steps")
"""Sizes that the cost of a block follows, as far as they are recorded."""

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


class Process(msgspec.Struct, frozen=True, kw_only=True):
    """One process, but for its blocks.

    Attributes:
        file: That it was recorded in.
        format: Format of the file, in words.
        blocks: Number of blocks.
        facts: Facts of the process in the file.
        unknown: Names in the file that aren't kept.
        at_odds: The share of its blocks whose total isn't the mutator's time plus GC.
        missing: Inputs that it didn't find among the unspent outputs.
        warm_up: The first blocks, where they cost more than later ones; None where they don't.
        warm_slot: The slot of the last of them.
        workload: What must be equal between processes to be compared.
        place: In the session's order over all targets, from 0; None where slotmark didn't start it.
        load: Load average before.
        wall_ns: From its start to its end.
    """

    file: str
    format: str
    blocks: int
    facts: Facts
    unknown: tuple[str, ...]
    at_odds: float
    missing: int
    workload: dict[str, str]
    warm_up: WarmUp | None = None
    warm_slot: int = 0
    place: int | None = None
    load: float | None = None
    wall_ns: int | None = None


def process_of(recorded: Recorded) -> Process:
    """A recorded process without its blocks."""
    columns = recorded.columns
    sizes = [columns[name] for name in _SIZES if name in columns and columns[name].min() >= 0]
    found = warm_up(columns.get("total_ns", columns["total_us"]), sizes) if sizes else None
    return Process(
        file=recorded.path,
        format=recorded.format,
        blocks=recorded.blocks,
        facts=recorded.facts,
        unknown=recorded.unknown,
        at_odds=_at_odds(recorded),
        missing=sum(columns["missing_inputs"].tolist()) if "missing_inputs" in columns else 0,
        workload=_workload(recorded),
        warm_up=found,
        warm_slot=int(columns["slot"][found.blocks - 1]) if found else 0,
    )


def blocks_table(recorded: Recorded, run: int) -> pa.Table:
    """The rows of a process in the table ``blocks``; run is its number, from 1."""
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
    return pa.table(columns, schema=BLOCKS)


def processes_table(processes: Sequence[Process]) -> pa.Table:
    """The table ``processes``, in this order."""
    rows = []
    for run, process in enumerate(processes, start=1):
        facts = process.facts
        rows.append(
            {
                "run": run,
                "file": process.file,
                "format": process.format,
                "blocks": process.blocks,
                "compiler": facts.compiler or None,
                "commit": facts.commit or None,
                "mode": facts.mode or None,
                "backend": facts.backend or None,
                "chain": facts.chain or None,
                "host": hashed(facts.host) or None,
                "started": facts.started or None,
                "peak_bytes": facts.peak_bytes,
                "engine": facts.engine or None,
                "place": process.place,
                "load": process.load,
                "wall_ns": process.wall_ns,
                **msgspec.structs.asdict(facts.used),
            }
        )
    return pa.Table.from_pylist(rows, schema=PROCESSES)


def workload_of(processes: Sequence[Process]) -> dict[str, str]:
    """Facts that must be equal between two runs to be compared: those of the first process, with the names that any of them has."""
    facts = [process.facts for process in processes]
    named = {"chain": distinct(facts, "chain"), "mode": distinct(facts, "mode")}
    first = dict(processes[0].workload)
    work = {"chain": "", **first, **{name: ", ".join(values) for name, values in named.items() if values}}
    order = (
        *("chain", "blocks", "first slot", "last slot", "digest of slots"),
        *("digest of hashes", "mode", "totals"),
    )
    return {name: work[name] for name in order if work.get(name)}


def recorded_with(processes: Sequence[Process]) -> dict[str, str]:
    """The store of unspent outputs and the runtime's settings, of all processes, in words."""
    facts = [process.facts for process in processes]
    return {
        name: ", ".join(values)
        for name, values in (("backend", distinct(facts, "backend")), ("runtime", distinct(facts, "runtime")))
        if values
    }


def warnings_of(target: str, processes: Sequence[Process], machine: MachineFacts) -> list[Warning]:
    """Warnings about a target's processes."""
    facts = [process.facts for process in processes]
    of_bench = catalogue(BENCH)
    found = [of_bench.warning("one_process", target)] if len(processes) < ENOUGH_PROCESSES else []
    if machine.cpu == "unknown":
        found.append(of_bench.warning("machine_unknown", target))
    for what, words in (
        ("compiler", "the compiler"),
        ("commit", "the commit"),
        ("mode", "the mode"),
        ("backend", "the backend"),
        ("chain", "the chain's name"),
        ("runtime", "the runtime's settings"),
        ("host", "the machine"),
    ):
        values = distinct(facts, what)
        if len(values) > 1:
            found.append(
                of_bench.warning(
                    "processes_differ",
                    target,
                    what=words,
                    values=", ".join(hashed(value) if what == "host" else value for value in values),
                )
            )
    ended = list(dict.fromkeys((one.used.entries, one.used.digest) for one in facts))
    if any(len({*values} - {None}) > 1 for values in zip(*ended, strict=True)):
        found.append(
            of_bench.warning("other_ends", target, sets="; ".join(f"{one}, {digest}" for one, digest in ended))
        )
    unknown = list(dict.fromkeys(name for process in processes for name in process.unknown))
    if unknown:
        found.append(of_bench.warning("unknown_columns", target, names=", ".join(unknown)))
    share = max(process.at_odds for process in processes)
    if share > 0:
        found.append(of_bench.warning("totals_at_odds", target, share=percent(share)))
    missing = max(process.missing for process in processes)
    if missing:
        found.append(of_bench.warning("missing_inputs", target, inputs=missing))
    warmed = [process for process in processes if process.warm_up]
    if 2 * len(warmed) > len(processes):
        middle = sorted(warmed, key=lambda one: one.warm_slot)[len(warmed) // 2]
        if middle.warm_up:
            found.append(
                of_bench.warning(
                    "warmed_up",
                    target,
                    blocks=middle.warm_up.blocks,
                    slot=str(middle.warm_slot),
                    excess=percent(middle.warm_up.excess),
                    processes=len(warmed),
                    of=len(processes),
                    share=percent(middle.warm_up.share),
                )
            )
    return found


def distinct(facts: Sequence[Facts], name: str) -> list[str]:
    """Different values of this fact, without empty ones, in the order of the processes."""
    return list(dict.fromkeys(filter(None, (getattr(one, name) for one in facts))))


def hashed(host: str) -> str:
    """Distinguishes machines without naming them."""
    return hashlib.sha256(host.encode()).hexdigest()[:12] if host else ""


def _workload(recorded: Recorded) -> dict[str, str]:
    slots = recorded.columns["slot"]
    hashes = hashlib.sha256("".join(recorded.hashes).encode()).hexdigest()[:16] if recorded.hashes else ""
    return {
        "blocks": f"{slots.size:,}",
        "first slot": str(slots[0]),
        "last slot": str(slots[-1]),
        "digest of slots": hashlib.sha256(slots.astype("<i8").tobytes()).hexdigest()[:16],
        "digest of hashes": hashes,
        "totals": str(totals_of(recorded)),
    }


def _at_odds(recorded: Recorded) -> float:
    """The share of blocks whose total isn't the mutator's time plus GC; each is cut to whole microseconds by itself."""
    columns = recorded.columns
    if "mut_us" not in columns or "gc_us" not in columns:
        return 0.0
    return float((np.abs(columns["total_us"] - columns["mut_us"] - columns["gc_us"]) > 2).mean())
