"""Ingest: a folder of logs to a run folder."""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from statistics import median

import msgspec
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from slotmark import _core
from slotmark.benches.cluster import tracing
from slotmark.benches.cluster.clocks import look_at_clocks
from slotmark.benches.cluster.logs import host_logs, without_logs
from slotmark.benches.cluster.metadata import (
    UNKNOWN,
    Genesis,
    Metadata,
    read_genesis,
    read_metadata,
    regions_of_topology,
)
from slotmark.benches.cluster.requests import CLOCK_LIMIT_MS, IngestRequest
from slotmark.cleaning import one_line
from slotmark.cores import usable_cores
from slotmark.errors import ArgumentError, LogError
from slotmark.metrics.catalogue import catalogue
from slotmark.metrics.filters import Filter, parse_filters
from slotmark.numbers import percent, plain
from slotmark.run import MachineFacts, Manifest, Run, RunWriter, SourceFile, Target
from slotmark.versions import versions
from slotmark.warnings import Warning, shown
from slotmark.words import counted, listed

BENCH = "cluster"

_EARLY_S = 60
"""A host whose log ends so long before the last one's stopped early, or its log is cut."""

_SHOWN = 5

_OTHER_GENESIS_NS = 3600 * 10**9
"""No clock is that wrong on half of the hosts."""

_ROWS, _EVENTS = 1_000, 9
"""At each end of a piece of a log, the number of rows that are read, and the number of events among them that are taken."""

_IN_THEIR_SLOT = {
    "slot_events": (("started", "leader", "not_leader"), (0, -1)),
    "block_events": (("forged", "noticed"), (-1,)),
}
"""Tables and events that have the slot in which they happen, the surest first, and at which ends of logs: a node may begin far behind."""


class MeasuredHere(msgspec.Struct, frozen=True):
    """Facts of a cluster that slotmark ran itself.

    Attributes:
        machine: Facts about the machine before the run.
        slots: The first slot that lies in the measurement, and the last.
        parameters: What was asked for.
        observed: What was seen of the run as a whole.
        warnings: What happened that readers of figures must know.
        tables: More tables of the run, by name.
        session: What runs measured in turns share; empty where it is of none.
    """

    machine: MachineFacts
    slots: tuple[int, int]
    parameters: dict[str, object]
    observed: dict[str, object]
    warnings: list[Warning]
    tables: dict[str, pa.Table]
    session: str = ""


class Host(msgspec.Struct):
    """Results of a host's logs; as ``slotmark_tracelog::HostFacts``."""

    host: str
    lines: int
    kept: int
    rejected: int
    repeated: int
    backwards: int
    short_hashes: int
    late: int
    node: str
    version: str
    revision: str
    compiler: str
    first_ts_ns: int | None = None
    last_ts_ns: int | None = None


class Rejection(msgspec.Struct):
    """A line that couldn't be read."""

    file: str
    line: int
    offset: int
    reason: str
    text: str


class DamagedFile(msgspec.Struct):
    """A packed file that can't be read to its end: from byte `at` on, `unread_bytes` packed bytes."""

    host: str
    file: str
    at: int
    unread_bytes: int
    what: str


class Ingested(msgspec.Struct):
    """Results of the lines; as ``slotmark_tracelog::Ingested``."""

    tables: dict[str, int]
    hosts: list[Host]
    sources: list[SourceFile]
    lines: int
    rejected: int
    reasons: list[tuple[str, int]]
    first_rejections: list[Rejection]
    bytes: int
    damaged: list[DamagedFile] = []


class Cluster(msgspec.Struct, frozen=True, kw_only=True):
    """Facts of a cluster and its run besides the lines.

    Attributes:
        name: What the run is called where its metadata has no tag.
        target: What reports call the run's target.
        host_from: Whether the host of a line is its file's, or what its field ``host`` says.
        genesis: The cluster's genesis.
        metadata: What is known about the run.
        regions: The region of each host of the topology, empty where that isn't known.
        missing: Hosts of which there is no log.
        unread: Files beside logs that can't be read, each with the reason.
        limits: Counted messages that nodes log only a limited number of times per second.
        here: What is known of a run on this machine; None of logs from elsewhere.
        clock_limit_ms: As :class:`IngestRequest` has it.
        correct_clocks: Likewise.
    """

    name: str
    target: str
    host_from: str
    genesis: Genesis
    metadata: Metadata
    regions: Mapping[str, str]
    missing: Sequence[str] = ()
    unread: Sequence[str] = ()
    limits: Mapping[str, float] = {}
    here: MeasuredHere | None = None
    clock_limit_ms: float = CLOCK_LIMIT_MS
    correct_clocks: bool = False


def ingest(
    request: IngestRequest,
    on_step: Callable[[int, int], None] = lambda _done, _total: None,
    here: MeasuredHere | None = None,
) -> tuple[Run, Ingested]:
    """Reads the logs of a cluster into a new run folder.

    Args:
        request: The request to carry out.
        on_step: Called with bytes done and in all; may raise to stop.
        here: What is known of the run where it was made on this machine.

    Raises:
        LogError: There are no logs or no genesis, a file is there twice or damaged, or too many lines can't be read; nothing was
            written.
        RunError: The run folder can't be written.
    """
    if (
        request.logs.is_dir()
        and isinstance(request.out, Path)
        and request.out.resolve().is_relative_to(request.logs.resolve())
    ):
        raise LogError(f"{request.out}: lies inside {request.logs}, the logs. Choose an -o elsewhere.")
    found = host_logs(request.logs)
    logs = found.logs
    folder = request.logs if request.logs.is_dir() else request.logs.parent
    try:
        limits = tracing.limits(logs)
    except OSError as error:
        raise LogError(
            f"{folder}: a log was there and can't be read ({error.strerror or error}). Ingest again, or ingest a copy."
        ) from error
    genesis = read_genesis(folder, request.genesis)
    metadata = read_metadata(folder, request.meta)
    regions = regions_of_topology(folder)
    with RunWriter(request.out) as writer:
        text = _core.ingest(
            [(log.host, str(log.path)) for log in logs],
            str(writer.tables_folder),
            request.threads or usable_cores(),
            request.host_from == "field",
            on_step,
        )
        ingested = msgspec.json.decode(text, type=Ingested)
        if not request.accept_damaged:
            _refuse_damaged(ingested)
        _refuse_rejected(ingested, request.max_rejected)
        if not any(host.kept for host in ingested.hosts):
            raise LogError(
                f"{request.logs}: no line of {ingested.lines:,} has anything that is measured. Are these logs of block producers?"
            )
        _refuse_other_genesis(writer.tables_folder, genesis)
        cluster = Cluster(
            name=request.logs.resolve().name,
            target=request.target or metadata.ident or request.out.name,
            host_from=request.host_from,
            genesis=genesis,
            metadata=metadata,
            regions=regions,
            unread=[f"{path} ({why})" for path, why in found.unread],
            limits=limits,
            missing=without_logs(
                folder, [host.host for host in ingested.hosts], list(regions), [path for path, _ in found.unread]
            )
            if request.host_from == "path"
            else (),
            here=here,
            clock_limit_ms=request.clock_limit_ms,
            correct_clocks=request.correct_clocks,
        )
        run = finish_run(writer, cluster, ingested)
    return run, ingested


def finish_run(writer: RunWriter, cluster: Cluster, ingested: Ingested) -> Run:
    """Completes a run folder whose tables of lines are written: the genesis, and the manifest.

    Raises:
        RunError: The run folder can't be written.
    """
    for name, rows in ingested.tables.items():
        writer.add(name, rows)
    writer.table("genesis", genesis_table(cluster.genesis, len(ingested.hosts)))
    writer.table("regions", _regions_table(cluster.regions, [host.host for host in ingested.hosts]))
    for name, table in (cluster.here.tables if cluster.here else {}).items():
        writer.table(name, table)
    found = look_at_clocks(
        writer.tables_folder,
        [host.host for host in ingested.hosts if host.kept],
        cluster.clock_limit_ms,
        correct=cluster.correct_clocks,
    )
    for name, table in found.tables.items():
        writer.table(name, table)
    # All hosts of a cluster that ran here have the clock of this machine, whatever delays on a busy one suggest.
    of_clocks = [] if cluster.here else found.warnings
    return writer.finish(
        _manifest(cluster, ingested, [*_of_tracing(writer.tables_folder, cluster, ingested), *of_clocks])
    )


def _of_tracing(tables: Path, cluster: Cluster, ingested: Ingested) -> list[Warning]:
    """Warnings about messages that nodes held back, and those that are not known."""
    hosts = [host.host for host in ingested.hosts if host.node == tracing.NODE]
    times, unknown = tracing.held_back(tables, hosts), tracing.unknown(tables, hosts)
    return [
        *([_traces_limited(cluster.limits, times)] if cluster.limits or times else []),
        *([_unknown_messages(unknown)] if unknown else []),
    ]


def _traces_limited(messages: Mapping[str, float], times: int) -> Warning:
    """Messages that are counted, of which nodes log only so many per second; and how often logs mention that such a limit was reached."""
    named = [f"{message} ({plain(most)} per second)" for message, most in messages.items()]
    found = [
        *([f"Nodes limit how many of these messages they log: {shown(named)}."] if named else []),
        *([f"Tracing held messages back, by {times:,} messages of its own."] if times else []),
    ]
    return catalogue("cluster").warning("traces_limited", found=" ".join(found))


def _unknown_messages(lines: Mapping[str, int]) -> Warning:
    """Messages whose names begin as none that cardano-node is known to have."""
    named = [f"{part} ({count:,})" for part, count in lines.items()]
    return catalogue("cluster").warning("unknown_messages", lines=sum(lines.values()), messages=named)


def _filters_left_out(left_out: Sequence[str], first: int, last: int) -> Warning:
    """A run that ended before the slots that its profile would have analysed."""
    return catalogue("cluster").warning("filters_left_out", left_out=listed(left_out), first=first, last=last)


def genesis_table(genesis: Genesis, hosts: int) -> pa.Table:
    """The genesis as a table of one row, so that SQL has it; with the number of hosts, the cluster's size."""
    return pa.table(
        {
            "system_start_ns": pa.array([genesis.system_start_ns], pa.int64()),
            "slot_ns": pa.array([round(genesis.slot_length * 1e9)], pa.int64()),
            "epoch_slots": pa.array([genesis.epoch_length], pa.int64()),
            "security_param": pa.array([genesis.security_param], pa.int64()),
            "active_slots_coeff": pa.array([genesis.active_slots_coeff], pa.float64()),
            "max_block_body_bytes": pa.array([genesis.protocol_params.maxBlockBodySize], pa.int64()),
            "hosts": pa.array([hosts], pa.int64()),
        }
    )


def _regions_table(regions: Mapping[str, str], hosts: Sequence[str]) -> pa.Table:
    """The region of each host with a log, where the topology has it."""
    known = sorted((host, regions[host]) for host in hosts if regions.get(host))
    return pa.table(
        {
            "host": pa.array([host for host, _ in known], pa.string()),
            "region": pa.array([region for _, region in known], pa.string()),
        }
    )


def _refuse_damaged(ingested: Ingested) -> None:
    if not ingested.damaged:
        return
    first = "; ".join(
        f"{one_line(one.file)}: {one.unread_bytes:,} bytes not read, from byte {one.at:,} on ({one_line(one.what)})"
        for one in ingested.damaged[:3]
    )
    raise LogError(
        f"{len(ingested.damaged):,} packed files are damaged: what they gave may be wrong, and the rest is not read. The first: {first}. "
        "Copy them again, or accept the loss with --accept-damaged."
    )


def _refuse_rejected(ingested: Ingested, most: float) -> None:
    if ingested.rejected <= most * ingested.lines:
        return
    reasons = ", ".join(f"{count:,} {reason}" for reason, count in ingested.reasons[:_SHOWN])
    nodes = " and ".join(sorted({host.node for host in ingested.hosts if host.node})) or "cardano-node"
    first = "; ".join(
        f"{one.file}:{one.line} (byte {one.offset:,}) {one.reason}: {one_line(one.text[:60])}"
        for one in ingested.first_rejections[:3]
    )
    raise LogError(
        f"{ingested.rejected:,} of {ingested.lines:,} lines can't be read ({reasons}), more than {percent(most)}. "
        f"The first: {first}. They were read as lines of {nodes}. Mend the logs, or allow more with --max-rejected."
    )


def _refuse_other_genesis(tables: Path, genesis: Genesis) -> None:
    """Refuses a genesis by which slots are at other times than those at which hosts did something in them.

    Of each piece of a log the first and the last rows are looked at; the median over pieces lets hosts with wrong clocks pass.
    """
    slot_ns = round(genesis.slot_length * 1e9)
    late_ns: dict[int, list[float]] = {0: [], -1: []}
    for table, (events, ends) in _IN_THEIR_SLOT.items():
        if any(late_ns.values()):
            break
        for part in sorted((tables / table).iterdir()):
            for end in ends:
                if found := _lateness(part, end, events, genesis.system_start_ns, slot_ns):
                    late_ns[end].append(median(found))
    off_ns = max((round(median(late)) for late in late_ns.values() if late), key=abs, default=0)
    if abs(off_ns) > _OTHER_GENESIS_NS:
        start_ns = genesis.system_start_ns + off_ns
        began = _moment(start_ns) if 0 <= start_ns < 2**63 else "at no time"
        raise LogError(
            f"the genesis is not that of these logs: by it slot 0 began {genesis.system_start}, by the slots that hosts began {began}. "
            "Give the genesis with --genesis that the nodes were started with. A network that began with Byron's slots of 20 s can't be analysed."
        )


def _lateness(part: Path, end: int, events: Sequence[str], start_ns: int, slot_ns: int) -> list[int]:
    """Returns how long after the beginning of their slots the events in the first rows of a file were, or the last; by a genesis."""
    file = pq.ParquetFile(part)
    if not file.metadata.num_rows:
        return []
    group = file.read_row_group(range(file.num_row_groups)[end], columns=["ts_ns", "event", "slot"])
    rows = group.slice(0, _ROWS) if end == 0 else group.slice(max(0, group.num_rows - _ROWS))
    rows = rows.filter(pc.field("event").isin(events) & pc.field("slot").is_valid())
    rows = rows.slice(0, _EVENTS) if end == 0 else rows.slice(max(0, rows.num_rows - _EVENTS))
    pairs = zip(rows["ts_ns"].to_pylist(), rows["slot"].to_pylist(), strict=True)
    return [ts_ns - start_ns - slot * slot_ns for ts_ns, slot in pairs]


def _manifest(cluster: Cluster, ingested: Ingested, more_warnings: Sequence[Warning]) -> Manifest:
    genesis, metadata, here = cluster.genesis, cluster.metadata, cluster.here
    # A bed's meta.json has the versions of the cluster that its profile describes; only the logs have the node that ran on it.
    packages = {} if here else metadata.packages
    ghc_version = UNKNOWN if here else metadata.ghc_version
    slots = here.slots if here else _logged_slots(ingested, genesis)
    too_late = _begin_after(metadata.filters, slots[1], genesis)
    wrote = Counter(host.node for host in ingested.hosts if host.node)
    most = max(sorted(wrote), key=wrote.__getitem__, default="cardano-node")
    logged = next((host for host in ingested.hosts if host.version and host.node == most), None)
    node = packages.get("cardano-node") if most == "cardano-node" else None
    version = node.version if node and node.version != UNKNOWN else (logged.version if logged else "")
    commit = node.commit if node and node.commit != UNKNOWN else (logged.revision if logged else "")
    compiler = ghc_version if ghc_version not in (UNKNOWN, "none") else (logged.compiler if logged else "")
    digest = ingested.sources[0].identity.rpartition(":")[2][:12] if ingested.sources else ""
    return Manifest(
        id=f"{metadata.tag or cluster.name}-{digest}",
        bench=BENCH,
        origin="measured" if metadata.simulator is None else "simulated",
        target=Target(
            name=cluster.target,
            version=version,
            language="",
            commit=commit,
            toolchain=f"ghc {compiler}" if compiler else "",
        ),
        workload={
            **metadata.workload,
            "hosts": str(len(ingested.hosts)),
            "epoch, slots": str(genesis.epoch_length),
            "slot, s": plain(genesis.slot_length),
            "active slots": plain(genesis.active_slots_coeff),
        },
        parameters={
            "filters": [one for one in metadata.filters if one not in too_late],
            "batch": metadata.batch,
            "profile": metadata.profile,
            "era": metadata.era,
            "tag": metadata.tag,
            **({"RTS flags": metadata.rts_flags} if metadata.rts_flags else {}),
            "host from": cluster.host_from,
            "clocks": "corrected" if cluster.correct_clocks else "as logged",
            **(here.parameters if here else {}),
        },
        observed=here.observed if here else {},
        session=(here.session if here else "") or f"{metadata.tag}-{digest}",
        machine=here.machine if here else None,
        started=_moment(min((host.first_ts_ns for host in ingested.hosts if host.first_ts_ns is not None), default=0)),
        ended=_moment(max((host.last_ts_ns for host in ingested.hosts if host.last_ts_ns is not None), default=0)),
        versions={
            **versions(),
            **({"simulator": metadata.simulator} if metadata.simulator else {}),
            **(_placed(ingested, here.tables) if here else _nodes(ingested)),
            **{f"target {name}": known for name, package in packages.items() if (known := package.known)},
        },
        sources=ingested.sources,
        tables={},
        warnings=[
            *_warnings(ingested, cluster),
            *more_warnings,
            *(here.warnings if here else []),
            *([_filters_left_out(too_late, *slots)] if too_late else []),
        ],
    )


def _logged_slots(ingested: Ingested, genesis: Genesis) -> tuple[int, int]:
    """The first slot in which any host logged, and the last; 0 and -1 where none did after the start."""

    def slot(ts_ns: int) -> int:
        return (ts_ns - genesis.system_start_ns) // round(genesis.slot_length * 1e9)

    first = min((host.first_ts_ns for host in ingested.hosts if host.first_ts_ns is not None), default=0)
    last = max((host.last_ts_ns for host in ingested.hosts if host.last_ts_ns is not None), default=0)
    return max(0, slot(first)), max(-1, slot(last))


def _begin_after(filters: Sequence[str], last_slot: int, genesis: Genesis) -> list[str]:
    """Returns the conditions and named sets of a profile's filters by which the analysis begins after a slot."""
    slots = {"SlotGEq": 1, "EpochGEq": genesis.epoch_length}
    return [
        asked
        for asked in filters
        if any(one.tag in slots and (one.argument or 0) * slots[one.tag] > last_slot for one in _conditions(asked))
    ]


def _conditions(asked: str) -> list[Filter]:
    """The conditions of a filter of the profile; none of one that isn't known, which the analysis refuses."""
    try:
        return parse_filters([asked], BENCH)
    except ArgumentError:
        return []


def _nodes(ingested: Ingested) -> dict[str, str]:
    """The nodes that wrote the logs, each with the versions that its hosts log; none whose version no host logs."""
    return _versions((host.node, host) for host in ingested.hosts if host.node)


def _placed(ingested: Ingested, tables: Mapping[str, pa.Table]) -> dict[str, str]:
    """What hosts ran that didn't all run the same, by its name in the session, likewise."""
    if (placed := tables.get("host_nodes")) is None:
        return {}
    names = dict(zip(placed["host"].to_pylist(), placed["name"].to_pylist(), strict=True))
    return _versions((names[host.host], host) for host in ingested.hosts if host.host in names)


def _versions(named: Iterable[tuple[str, Host]]) -> dict[str, str]:
    found: dict[str, dict[str, None]] = {}
    for name, host in named:
        if host.kept:
            known = " ".join(filter(None, (host.version, host.revision[:7])))
            found.setdefault(f"target {name}", {}).update({known: None} if known else {})
    return {name: ", ".join(known) for name, known in found.items() if known}


def _moment(ts_ns: int) -> str:
    return datetime.fromtimestamp(ts_ns // 10**9, UTC).isoformat().replace("+00:00", "Z")


def _warnings(ingested: Ingested, cluster: Cluster) -> list[Warning]:
    hosts, of_bench = ingested.hosts, catalogue("cluster")
    found = []
    if ingested.rejected:
        found.append(
            of_bench.warning(
                "rejected_lines",
                rejected=ingested.rejected,
                lines=ingested.lines,
                reasons=", ".join(f"{count:,} {reason}" for reason, count in ingested.reasons),
            )
        )
    if repeated := sum(host.repeated for host in hosts):
        repeating = [host.host for host in hosts if host.repeated]
        found.append(of_bench.warning("repeated_lines", repeated=repeated, hosts=repeating))
    if ingested.damaged:
        found.append(
            of_bench.warning(
                "damaged_files",
                damaged=f"{counted(len(ingested.damaged), 'packed log')} {'is' if len(ingested.damaged) == 1 else 'are'}",
                unread=sum(one.unread_bytes for one in ingested.damaged),
                files=[one.file for one in ingested.damaged],
            )
        )
    ends = {host.host: host.last_ts_ns for host in hosts if host.last_ts_ns is not None}
    limit_ns = max(ends.values(), default=0) - _EARLY_S * 10**9
    early = [host for host, end in ends.items() if end < limit_ns]
    if early:
        found.append(of_bench.warning("stopped_early", hosts=early, seconds=_EARLY_S))
    if cluster.missing:
        found.append(of_bench.warning("missing_hosts", hosts=cluster.missing))
    if cluster.unread:
        were = f"{counted(len(cluster.unread), 'file')} {'was' if len(cluster.unread) == 1 else 'were'}"
        found.append(of_bench.warning("unread_logs", unread=were, files=cluster.unread))
    for kind, named in (
        ("silent_hosts", [host.host for host in hosts if not host.kept]),
        ("time_backwards", [host.host for host in hosts if host.backwards]),
        ("short_hashes", [host.host for host in hosts if host.short_hashes]),
    ):
        if named:
            found.append(of_bench.warning(kind, hosts=named))
    return found
