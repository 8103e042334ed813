"""A live run from its bed to its run folder."""

import math
import shutil
import time
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from datetime import UTC, datetime
from pathlib import Path

import msgspec

from slotmark.benches.cluster.bed import read_bed
from slotmark.benches.cluster.finishing import MeasuredHere
from slotmark.benches.cluster.ingest import ingest
from slotmark.benches.cluster.ingested import Ingested
from slotmark.benches.cluster.live.cluster import (
    Cluster,
    DiedError,
    Progress,
    ShortMemoryError,
)
from slotmark.benches.cluster.live.launching import (
    WanStatistics,
    end_leftovers,
    network,
)
from slotmark.benches.cluster.live.memory import Memory, memory_left
from slotmark.benches.cluster.live.placing import FILE as HOSTS_FILE
from slotmark.benches.cluster.live.placing import Placed, host_nodes, place
from slotmark.benches.cluster.live.plan import Request, wan_plan
from slotmark.benches.cluster.live.rundir import (
    MACHINE_USAGE,
    USAGE,
    WAKES,
    make_rundir,
    remove_prepared,
)
from slotmark.benches.cluster.live.sampling import (
    MACHINE_SCHEMA,
    USAGE_SCHEMA,
    Sampler,
    busyness,
    read_samples,
)
from slotmark.benches.cluster.live.waking import Waking, lateness, machine_warning, read_delays
from slotmark.benches.cluster.requests import IngestRequest
from slotmark.errors import TargetError
from slotmark.measure.process import refuse_without_linux
from slotmark.metrics.catalogue import catalogue
from slotmark.metrics.filters import MEASURED
from slotmark.numbers import fixed
from slotmark.run import MachineFacts, Run, machine_facts, machine_warnings
from slotmark.run.manifest import MIXED, ROUND
from slotmark.words import listed

_LEAD_S = 5
_LEAD_PER_HOST_S = 0.5
_LEAD_PER_GENESIS_BYTE_S = 1e-7
"""Between the start of the nodes and slot 0: a node that starts later has missed slots. A genesis of 10 MB is given a second."""


LATE_LIMIT_US = 1_000
"""The router's median lateness above which latencies of a run are warned of."""


class LiveRun(msgspec.Struct, frozen=True):
    """A live run that was measured.

    Attributes:
        run: The run folder.
        ingested: What became of the logs' lines.
        cut: Why it ended before its time, in words; empty where it didn't.
        interrupted: Whether that was a signal.
    """

    run: Run
    ingested: Ingested
    cut: str
    interrupted: bool


def _why(error: BaseException) -> str:
    """Returns the reason why a measurement ended before its time, in words."""
    if isinstance(error, KeyboardInterrupt):
        return "stopped by a signal"
    if isinstance(error, OSError):
        return f"{error.filename or 'what is measured'} can't be written or read: {error.strerror or error}"
    return str(error).removesuffix(".")


def run_live(
    request: Request,
    on_progress: Callable[[Progress], None],
    on_remark: Callable[[str], None] = lambda _text: None,
    memory: Callable[[], Memory] = memory_left,
) -> LiveRun:
    """Runs a cluster and makes its run folder.

    Whatever ends the measurement early, as a signal, a node's death or a full disk, what was measured until then is kept: as a run folder
    that is marked as cut, or where none can be made as the run directory. Before the measurement, nothing is.

    Args:
        request: The request to carry out.
        on_progress: Called about once a second.
        on_remark: Called with remarks for the user that can't wait, as the last lines of a node that died.
        memory: What nodes can still have. Where it is short the run ends.

    Raises:
        ArgumentError: The run folder is there already.
        BedError: There is no such bed, or it is damaged.
        TargetError: There is no such node; or nodes can't be prepared, don't get ready, don't agree, die, or take all memory before the
            measurement.
        ServerError: The emulated network can't be made.
        LogError: The logs can't be ingested; they are kept.
        OSError: A file can't be written or read; the run directory is kept where the measurement had begun.
        KeyboardInterrupt: A signal came before the measurement, or a second one while nodes were ending.
    """
    refuse_without_linux("a live cluster")
    bed, machine = read_bed(request.bed), machine_facts()
    placed = place(request, bed)
    plan = wan_plan(bed, request.seed) if request.network == "wan" else None
    if ended := end_leftovers():
        on_remark(f"{len(ended):,} processes were left by a live run that was killed; they were ended.")
    start_s = math.ceil(time.time()) + (
        request.start_within_s or math.ceil(_LEAD_S + _LEAD_PER_HOST_S * len(bed.hosts) + _genesis_lead_s(request.bed))
    )
    target = request.turn.name if request.turn else listed(sorted({one.name for one in placed.values()}))
    folder = make_rundir(request, start_s, target)
    kept = False
    try:
        with ExitStack() as stack:
            wan = stack.enter_context(network(plan, folder))
            stack.enter_context(Waking(folder / WAKES))
            sampler = stack.enter_context(
                Sampler(folder / USAGE, folder / MACHINE_USAGE, own_networks=request.network == "wan")
            )
            cluster = Cluster(request, placed, bed, folder, start_s, wan, sampler, on_progress, on_remark, memory)
            stack.callback(remove_prepared, folder, on_remark)
            stack.callback(cluster.kill)
            cut, interrupted = "", False
            try:
                cluster.prepare()
                cluster.start()
                cluster.wait()
                if request.workload:
                    cluster.load()
                cluster.measure()
            except (DiedError, TargetError, OSError, KeyboardInterrupt) as error:
                if not cluster.measures:
                    kept = isinstance(error, TargetError) and bool(cluster.nodes)  # the reason is in the nodes' output
                    raise
                cut, interrupted = _why(error), isinstance(error, KeyboardInterrupt)
                if isinstance(error, ShortMemoryError):
                    cluster.kill()
            finally:
                kept = kept or cluster.measures
            cluster.stop()
            statistics = wan.stop() if wan else None
        here = _measured_here(request, placed, machine, cluster, folder, statistics, cut)
        run, ingested = ingest(
            IngestRequest(logs=[str(folder)], out=request.out, target=target),
            lambda _done, _total: None,
            here,
        )
    except BaseException:
        if kept:
            on_remark(f"{folder}: what nodes logged is kept there")
        else:
            shutil.rmtree(folder)
        raise
    return LiveRun(run, ingested, cut, interrupted)


def _genesis_lead_s(bed: Path) -> float:
    """Returns how long nodes, or programs that prepare for them, may take for a genesis."""
    return sum(file.stat().st_size for file in (bed / "genesis").glob("genesis.*.json")) * _LEAD_PER_GENESIS_BYTE_S


def _measured_here(
    request: Request,
    placed: Mapping[str, Placed],
    machine: MachineFacts,
    cluster: Cluster,
    folder: Path,
    statistics: WanStatistics | None,
    cut: str,
) -> MeasuredHere:
    usage, used = read_samples(folder / USAGE, USAGE_SCHEMA), read_samples(folder / MACHINE_USAGE, MACHINE_SCHEMA)
    generator = cluster.generator
    found = [*cluster.warnings, *([] if generator else [catalogue("cluster").warning("no_workload")])]
    if cut:
        measured_s, asked_s = fixed(cluster.measured_s), fixed(request.seconds)
        found.append(catalogue("cluster").warning("cut_short", measured_s=measured_s, asked_s=asked_s, why=cut))
    found += machine_warnings(machine)
    busy = busyness(usage, used, cluster.began_ns, cluster.ended_ns)
    delays = read_delays(folder / WAKES)
    late_by = lateness(delays, cluster.began_ns, cluster.ended_ns)
    found += machine_warning(late_by)
    parameters: dict[str, object] = {
        "node": listed(list(dict.fromkeys(one.given for one in placed.values()))),
        "network": request.network,
        "asked for, s": request.seconds,
        **({ROUND: request.turn.round} if request.turn else {}),
        **({MIXED: list(request.nodes)} if request.sides else {}),
    }
    first, last = cluster.measured_slots
    observed: dict[str, object] = {
        MEASURED: [f"SlotGEq {first}", f"SlotLEq {last}"],
        "measured, s": round(cluster.measured_s, 3),
        "measured until": datetime.fromtimestamp(cluster.ended_ns / 1e9, UTC).isoformat(timespec="milliseconds"),
    }
    if busy:
        observed |= {"nodes waited for a processor": round(busy.waiting, 4), "processors busy": round(busy.busy, 4)}
    if late_by:
        observed |= {
            "timers late by in the mean, us": round(late_by.mean_us, 1),
            "timers late by in the worst case, us": round(late_by.worst_us, 1),
        }
    if request.network == "loopback":
        found.append(catalogue("cluster").warning("no_latencies"))
    if statistics:
        observed |= statistics.facts()
        late = statistics.lateness_us
        if late and late["median"] > LATE_LIMIT_US:
            median_us, p99_us = fixed(late["median"]), fixed(late["p99"])
            found.append(catalogue("cluster").warning("late_packets", median_us=median_us, p99_us=p99_us))
        if dropped := sum(statistics.own_drops.values()):
            found.append(catalogue("cluster").warning("dropped_packets", dropped=dropped, carried=statistics.packets))
    tables = {"node_usage": usage, "machine_usage": used, "timer_delays": delays}
    if request.sides or (request.bed / HOSTS_FILE).is_file():
        tables["host_nodes"] = host_nodes(placed)
    if generator:
        tables |= generator.tables()
        observed |= generator.outcome()
        found += generator.warnings()
    session = request.turn.session if request.turn else ""
    return MeasuredHere(machine, cluster.measured_slots, parameters, observed, found, tables, session)
