"""The end of a run folder whose tables of lines are written: what is known besides the lines, clocks, warnings, and the manifest."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

import msgspec
import pyarrow as pa

from slotmark.benches.cluster.ingesting import tracing
from slotmark.benches.cluster.ingesting.clocks import beside_measured, look_at_clocks
from slotmark.benches.cluster.ingesting.ingested import Host, Ingested
from slotmark.benches.cluster.ingesting.refusals import moment
from slotmark.benches.cluster.metadata import UNKNOWN, Genesis, Metadata
from slotmark.benches.cluster.requests import CLOCK_LIMIT_MS
from slotmark.errors import ArgumentError, SlotmarkError
from slotmark.metrics.analysis import Analysis
from slotmark.metrics.catalogue import catalogue
from slotmark.metrics.filters import Filter, parse_filters
from slotmark.numbers import plain
from slotmark.run import MachineFacts, Manifest, Run, RunWriter, Target
from slotmark.versions import versions
from slotmark.warnings import Warning, shown
from slotmark.words import counted, listed

BENCH = "cluster"

_APART_S = 60
"""A host whose log begins so long after the first one's, or ends so long before the last one's, ran for a part of the run, or its log is cut."""


class MeasuredHere(msgspec.Struct, frozen=True):
    """Facts of a cluster that slotmark ran itself.

    Attributes:
        machine: Facts about the machine before the run; of several, the first host's.
        slots: The first slot that lies in the measurement, and the last.
        parameters: What was asked for.
        observed: What was seen of the run as a whole.
        warnings: What happened that readers of figures must know.
        tables: More tables of the run, by name.
        session: What runs measured in turns share; empty where it is of none.
        one_clock: Whether all hosts had the clock of one machine.
        clocks: Where hosts' machines compared their clocks, the least and the most that each was ahead of one of them, in ns.
        listening: Host to where it listens, as ``10.0.0.1:3001``.
        versions: Host to the version that its node's program states, where logs have none.
    """

    machine: MachineFacts
    slots: tuple[int, int]
    parameters: dict[str, object]
    observed: dict[str, object]
    warnings: list[Warning]
    tables: dict[str, pa.Table]
    session: str = ""
    one_clock: bool = True
    clocks: Mapping[str, tuple[int, int]] = {}
    listening: Mapping[str, str] = {}
    versions: Mapping[str, str] = {}


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
        noted: Warnings about how the logs were read.
        clock_limit_ms: A clock that is farther than this from the one in the middle is warned of.
        correct_clocks: Whether the times of hosts with such clocks are read as estimated.
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
    noted: Sequence[Warning] = ()
    clock_limit_ms: float = CLOCK_LIMIT_MS
    correct_clocks: bool = False


def finish_run(writer: RunWriter, cluster: Cluster, ingested: Ingested) -> Run:
    """Completes a run folder whose tables of lines are written: the genesis, and the manifest.

    Raises:
        RunError: The run folder can't be written.
    """
    for host in ingested.hosts:
        if cluster.here and not host.version:
            host.version = cluster.here.versions.get(host.host, "")
    for name, rows in ingested.tables.items():
        writer.add(name, rows)
    writer.table("genesis", genesis_table(cluster.genesis, len(ingested.hosts)))
    writer.table("regions", _regions_table(cluster.regions, [host.host for host in ingested.hosts]))
    if cluster.missing:
        writer.table("missing_hosts", pa.table({"name": pa.array(sorted(cluster.missing), pa.string())}))
    for name, table in (cluster.here.tables if cluster.here else {}).items():
        writer.table(name, table)
    found = look_at_clocks(
        writer.tables_folder,
        [host.host for host in ingested.hosts if host.kept],
        cluster.clock_limit_ms,
        correct=cluster.correct_clocks,
        listening=cluster.here.listening if cluster.here else {},
    )
    for name, table in found.tables.items():
        writer.table(name, table)
    # Hosts on one machine have one clock, whatever delays on a busy one suggest.
    of_clocks = [] if cluster.here and cluster.here.one_clock else found.warnings
    if cluster.here and (refuted := beside_measured(found.clocks, cluster.here.clocks)):
        of_clocks = [*of_clocks, catalogue("cluster").warning("clocks_disagree", hosts=refuted)]
    return writer.finish(
        _manifest(
            cluster,
            _corrected(ingested, found.clocks),
            [*cluster.noted, *_of_tracing(writer.tables_folder, cluster, ingested), *of_clocks],
        )
    )


def without_blocks(run: Run) -> list[Warning]:
    """Returns the warning about a run none of whose blocks passes the filters of its profile."""
    try:
        with Analysis(run) as found:
            return found.warnings("no_blocks")
    except SlotmarkError:
        return []  # the run is made, and what can't be read of it is an error of the command that reads it


def _corrected(ingested: Ingested, clocks: pa.Table) -> Ingested:
    """Lines with the times of hosts by corrected clocks, as tables are read: by its own clock a host may seem to have stopped early."""
    corrections = dict(zip(clocks["host"].to_pylist(), clocks["correction_ns"].to_pylist(), strict=True))

    def moved(host: Host, ts_ns: int | None) -> int | None:
        return None if ts_ns is None else ts_ns - corrections.get(host.host, 0)

    hosts = [
        msgspec.structs.replace(
            host, first_ts_ns=moved(host, host.first_ts_ns), last_ts_ns=moved(host, host.last_ts_ns)
        )
        for host in ingested.hosts
    ]
    return msgspec.structs.replace(ingested, hosts=hosts)


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
    digests = {source.identity for source in ingested.sources}
    simulation = [one for one in (metadata.simulation,) if one and one.identity not in digests]
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
        started=moment(min((host.first_ts_ns for host in ingested.hosts if host.first_ts_ns is not None), default=0)),
        ended=moment(max((host.last_ts_ns for host in ingested.hosts if host.last_ts_ns is not None), default=0)),
        versions={
            **versions(),
            **({"simulator": metadata.simulator} if metadata.simulator else {}),
            **(_placed(ingested, here.tables) if here else _nodes(ingested)),
            **{f"target {name}": known for name, package in packages.items() if (known := package.known)},
        },
        sources=[*ingested.sources, *simulation],
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
    """The nodes of hosts that didn't all run the same, by their names in the session, likewise."""
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
    begins = {host.host: host.first_ts_ns for host in hosts if host.first_ts_ns is not None}
    ends = {host.host: host.last_ts_ns for host in hosts if host.last_ts_ns is not None}
    first_ns, last_ns, apart_ns = min(begins.values(), default=0), max(ends.values(), default=0), _APART_S * 10**9
    late = [host for host, begin in begins.items() if begin > first_ns + apart_ns]
    early = [host for host, end in ends.items() if end < last_ns - apart_ns]
    if late:
        found.append(of_bench.warning("began_late", hosts=late, seconds=_APART_S))
    if early:
        found.append(of_bench.warning("stopped_early", hosts=early, seconds=_APART_S))
    if cluster.missing:
        found.append(of_bench.warning("missing_hosts", hosts=cluster.missing))
    if cluster.unread:
        were = f"{counted(len(cluster.unread), 'file')} {'was' if len(cluster.unread) == 1 else 'were'}"
        found.append(of_bench.warning("unread_logs", unread=were, files=cluster.unread))
    if turns := [host for host in hosts if host.takes_turns]:
        names = sorted({name for host in turns for name in host.names})
        found.append(of_bench.warning("hosts_in_turns", hosts=[host.host for host in turns], names=names))
    for kind, named in (
        ("silent_hosts", [host.host for host in hosts if not host.kept]),
        ("time_backwards", [host.host for host in hosts if host.backwards]),
        ("short_hashes", [host.host for host in hosts if host.short_hashes]),
    ):
        if named:
            found.append(of_bench.warning(kind, hosts=named))
    return found
