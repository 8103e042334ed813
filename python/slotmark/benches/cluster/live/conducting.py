"""A live run from its bed to its run folder."""

import math
import shutil
import time
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from shlex import quote

import msgspec
import pyarrow as pa

from slotmark.benches.cluster.bed import Bed, read_bed
from slotmark.benches.cluster.ingesting.finishing import MeasuredHere
from slotmark.benches.cluster.ingesting.ingested import Ingested
from slotmark.benches.cluster.live.cluster import Cluster, DiedError, Progress
from slotmark.benches.cluster.live.launching import WanStatistics, in_all
from slotmark.benches.cluster.live.memory import Memory, memory_left
from slotmark.benches.cluster.live.placing import asked, host_nodes, hosts_file, limits_of
from slotmark.benches.cluster.live.request import Request
from slotmark.benches.cluster.live.rundir import make_rundir
from slotmark.benches.cluster.live.sampling import busyness
from slotmark.benches.cluster.live.sites.elsewhere import Reach, site_of
from slotmark.benches.cluster.live.sites.part import Loaded, Part, Sampled, ShortMemoryError
from slotmark.benches.cluster.live.sites.site import Site
from slotmark.benches.cluster.live.waking import lateness, machines_warnings
from slotmark.benches.cluster.live.workload import OFFERED, refuse_workload
from slotmark.benches.cluster.requests import IngestRequest
from slotmark.errors import TargetError
from slotmark.measure.process import refuse_without_linux
from slotmark.metrics.catalogue import catalogue
from slotmark.metrics.filters import MEASURED
from slotmark.numbers import fixed, percent, plain
from slotmark.places import Place, Url
from slotmark.run import MachineFacts, Run, copy_run
from slotmark.run.manifest import MIXED, ROUND
from slotmark.warnings import Warning
from slotmark.words import listed

_LEAD_S = 5
_LEAD_PER_HOST_S = 0.5
_LEAD_PER_GENESIS_BYTE_S = 1e-7
"""Between the start of the nodes and slot 0: a node that starts later has missed slots. A genesis of 10 MB is given a second."""


LATE_LIMIT_US = 1_000
"""The router's median lateness above which latencies of a run are warned of."""


MOST_NEVER_OFFERED = 0.05
"""The share of the transactions that were due above which those that were never offered are warned of."""


class LiveRun(msgspec.Struct, frozen=True):
    """A live run that was measured.

    Attributes:
        run: The run folder.
        ingested: What became of the logs' lines.
        cut: Why it ended before its time, in words; empty where it didn't.
        interrupted: Whether that was a signal.
        output: Where nodes' output is, in words.
    """

    run: Run
    ingested: Ingested
    cut: str
    interrupted: bool
    output: list[str]


def _in_its_place(run: Run, out: Place, on_remark: Callable[[str], None]) -> Run:
    """Moves a run to the store that it was asked for in, if any. It can't be made again, so where that fails it stays, and the user is told."""
    if not isinstance(out, Url):
        return run
    try:
        there = copy_run(run.place, out)
    except BaseException:
        on_remark(
            f"{run.place}: the whole run is kept there. Put it into a store: slotmark copy {quote(str(run.place))} {quote(str(out))}"
        )
        raise
    shutil.rmtree(run.path)
    return there


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
    reach: Reach | None = None,
    noted: Sequence[Warning] = (),
) -> LiveRun:
    """Runs a cluster and makes its run folder.

    Whatever ends the measurement early, as a signal, a node's death or a full disk, what was measured until then is kept: as a run folder
    that is marked as cut, or where none can be made as the run directory. Before the measurement, nothing is.

    Args:
        request: The request to carry out.
        on_progress: Called about once a second.
        on_remark: Called with remarks for the user that can't wait, as the last lines of a node that died.
        memory: What nodes can still have on this machine. Where it is short the run ends.
        reach: How other machines are reached, where hosts run on those; None for this one.
        noted: Warnings about that.

    Raises:
        ArgumentError: The run folder is there already.
        BedError: There is no such bed, or it is damaged.
        TargetError: There is no such node; or nodes can't be prepared, don't get ready, don't agree, die, or take all memory before the
            measurement.
        ServerError: The emulated network can't be made.
        LogError: The logs can't be ingested; they are kept.
        StoreError: The run can't be written to its store; it is kept in a folder.
        OSError: A file can't be written or read; the run directory is kept where the measurement had begun.
        KeyboardInterrupt: A signal came before the measurement, or a second one while nodes were ending.
    """
    refuse_without_linux("a live cluster")
    bed = _bed_of(request)
    ticking = _Ticking()
    with site_of(request, bed, asked(request, bed), reach, memory, ticking.tick, on_remark) as site:
        lead_s = math.ceil(_LEAD_S + _LEAD_PER_HOST_S * len(bed.hosts) + _genesis_lead_s(request.bed))
        within_s, slot_s = request.start_within_s or lead_s, bed.genesis.slot_length_ns / 1e9
        begins_s = math.ceil(time.time() + site.before_s) + within_s
        start_s = begins_s - math.floor(bed.genesis.first_slot * slot_s)
        named = request.turn.name if request.turn else request.name
        target = named or listed(sorted({one.name for one in site.placed.values()}))
        folder = make_rundir(
            request, start_s, target, loopback=not site.emulated, quiet_slots=math.ceil(within_s / slot_s)
        )
        kept = False
        try:
            with site.begun(folder):
                cluster = Cluster(request, site, bed, start_s, on_progress, on_remark)
                ticking.to = cluster.tick
                cut, interrupted = "", False
                try:
                    cluster.run()
                except (DiedError, ShortMemoryError, TargetError, OSError, KeyboardInterrupt) as error:
                    if not cluster.measures:
                        kept = isinstance(error, TargetError) and cluster.started  # the reason is in the nodes' output
                        raise
                    cut, interrupted = _why(error), isinstance(error, KeyboardInterrupt)
                    if isinstance(error, ShortMemoryError):
                        cluster.kill()
                finally:
                    kept = kept or cluster.measures
                cluster.stop()
                statistics = in_all(site.machines.each(Part.end_network).values())
            here = _measured_here(request, site, cluster, statistics, cut, noted)
            run, ingested = site.ingest(IngestRequest(logs=[str(folder)], out=request.here, target=target), here)
            run = _in_its_place(run, request.out, on_remark)
        except BaseException:
            if kept:
                on_remark(f"{listed(site.output)}: what nodes logged is kept there")
            else:
                shutil.rmtree(folder)
                site.removed()
            raise
    return LiveRun(run, ingested, cut, interrupted, site.output)


def survey(
    requests: Sequence[Request], on_remark: Callable[[str], None], reach: Reach | None = None
) -> tuple[str, dict[str, MachineFacts]]:
    """Looks at the machines of live runs of one bed before any begins. It starts no node.

    Args:
        requests: The runs; they differ in their nodes alone.
        on_remark: As of :func:`run_live`.
        reach: As of :func:`run_live`.

    Returns:
        The network that their hosts will have, and facts about the machine of each host.

    Raises:
        SlotmarkError: As of :func:`run_live`, where one of the runs could not begin.
    """
    refuse_without_linux("a live cluster")
    first, *others = requests
    bed = _bed_of(first)
    with site_of(first, bed, asked(first, bed), reach, memory_left, lambda: None, on_remark) as site:
        for other in others:
            site.place(asked(other, bed))
        return site.network, site.facts


def _bed_of(request: Request) -> Bed:
    """The bed of a run. BedError where it is damaged, or the run can't have its workload."""
    bed = read_bed(request.bed)
    if request.workload:
        refuse_workload(bed)
    return bed


class _Ticking:
    """A function that is called while machines are waited for, once there is somebody who wants to know."""

    def __init__(self) -> None:
        self.to: Callable[[], None] = lambda: None

    def tick(self) -> None:
        """Calls it."""
        self.to()


def _genesis_lead_s(bed: Path) -> float:
    """Returns how long nodes, or programs that prepare for them, may take for a genesis."""
    return sum(file.stat().st_size for file in (bed / "genesis").glob("genesis.*.json")) * _LEAD_PER_GENESIS_BYTE_S


def _measured_here(
    request: Request,
    site: Site,
    cluster: Cluster,
    statistics: WanStatistics | None,
    cut: str,
    noted: Sequence[Warning],
) -> MeasuredHere:
    of_bench = catalogue("cluster")
    loaded, sampled = cluster.loaded, site.machines.each(Part.sampled)
    found = [*noted, *cluster.warnings, *([] if request.workload else [of_bench.warning("no_workload")])]
    if cut:
        measured_s, asked_s = fixed(cluster.measured_s), fixed(request.seconds)
        found.append(of_bench.warning("cut_short", measured_s=measured_s, asked_s=asked_s, why=cut))
    within = cluster.began_ns, cluster.ended_ns
    busy = [one for of in sampled.values() if (one := busyness(of.usage, of.machine, *within))]
    late = {name: lateness(of.delays, *within) for name, of in sampled.items()}
    late_by = max((one for one in late.values() if one), key=lambda one: one.mean_us, default=None)
    found += machines_warnings(late)
    parameters: dict[str, object] = {
        "node": listed(list(dict.fromkeys(one.given for one in site.placed.values()))),
        "network": site.network,
        "asked for, s": request.seconds,
        **limits_of(site.placed),
        **({ROUND: request.turn.round} if request.turn else {}),
        **({MIXED: list(request.nodes)} if request.sides else {}),
    }
    first, last = cluster.measured_slots
    observed: dict[str, object] = {
        MEASURED: [f"SlotGEq {first}", f"SlotLEq {last}"],
        "measured, s": round(cluster.measured_s, 3),
        "measured until": datetime.fromtimestamp(cluster.ended_ns / 1e9, UTC).isoformat(timespec="milliseconds"),
    }
    if busy:  # of several machines, the one where it was most
        observed |= {
            "nodes waited for a processor": round(max(one.waiting for one in busy), 4),
            "processors busy": round(max(one.busy for one in busy), 4),
        }
    if late_by:
        observed |= {
            "timers late by in the mean, us": round(late_by.mean_us, 1),
            "timers late by in the worst case, us": round(late_by.worst_us, 1),
        }
    if site.network == "loopback":
        found.append(of_bench.warning("no_latencies"))
    if own_stores := [host for host, one in site.placed.items() if one.has_own_store]:
        found.append(of_bench.warning("our_ledger_stores", hosts=listed(own_stores)))
    if statistics:
        observed |= statistics.facts()
        late = statistics.lateness_us
        if late and late["median"] > LATE_LIMIT_US:
            median_us, p99_us = fixed(late["median"]), fixed(late["p99"])
            found.append(of_bench.warning("late_packets", median_us=median_us, p99_us=p99_us))
        if dropped := sum(statistics.own_drops.values()):
            found.append(of_bench.warning("dropped_packets", dropped=dropped, carried=statistics.packets))
    own = site.own()
    found += own.warnings
    observed |= own.observed
    tables = {**_of_machines(sampled), **own.tables}
    if (
        request.sides
        or request.of_role
        or hosts_file(request).is_file()
        or any(one.limits for one in site.placed.values())
    ):
        tables["host_nodes"] = host_nodes(site.placed, request.staying)
    if loaded:
        tables |= loaded.tables
        observed |= loaded.outcome
        found += loaded.warnings
        loaded_s = min(cluster.measured_s, request.seconds)
        found += [*_load_over(loaded, loaded_s, request.seconds), *_never_offered(loaded, loaded_s)]
        observed["transactions due"] = _due(loaded, loaded_s)
    session = request.turn.session if request.turn else ""
    return MeasuredHere(
        own.machine,
        cluster.measured_slots,
        parameters,
        observed,
        found,
        tables,
        session,
        one_clock=len(sampled) == 1,
        clocks={host: (one.low_ns, one.high_ns) for host, one in own.clocks.items()},
        listening=cluster.places,
        versions=cluster.versions,
    )


def _load_over(loaded: Loaded, measured_s: float, asked_s: float) -> list[Warning]:
    """The warning that the profile's transactions were over before the measurement; none where they lasted."""
    # As they were counted at the start: the quotient may be rounded to less than the time that was asked for.
    if loaded.transactions >= math.ceil(loaded.tps * measured_s):
        return []
    return [
        catalogue("cluster").warning(
            "load_over",
            transactions=loaded.transactions,
            lasted_s=fixed(loaded.transactions / loaded.tps),
            measured_s=fixed(measured_s),
            enough=plain(math.ceil(loaded.tps * asked_s)),
        )
    ]


def _due(loaded: Loaded, measured_s: float) -> int:
    """The number of transactions that were due in the measurement."""
    return min(loaded.transactions, math.ceil(loaded.tps * measured_s))


def _never_offered(loaded: Loaded, measured_s: float) -> list[Warning]:
    """The warning that targets didn't ask for a part of what was due; none where it is small, or where the generator's own count is missing."""
    due, offered = _due(loaded, measured_s), loaded.outcome.get(OFFERED)
    if not isinstance(offered, int) or due - offered <= max(MOST_NEVER_OFFERED * due, loaded.tps):
        return []  # what was due in the last second may still wait
    return [
        catalogue("cluster").warning(
            "load_not_taken", due=due, left=due - offered, share=percent((due - offered) / due, 2)
        )
    ]


def _of_machines(sampled: Mapping[str, Sampled]) -> dict[str, pa.Table]:
    """Returns the samples; of several machines, rows that are of no host have the machine's name."""

    def named(tables: Mapping[str, pa.Table]) -> pa.Table:
        return pa.concat_tables(
            table.append_column("machine", pa.array([name] * table.num_rows, pa.string()))
            for name, table in tables.items()
        )

    if len(sampled) == 1:
        (one,) = sampled.values()
        return {"node_usage": one.usage, "machine_usage": one.machine, "timer_delays": one.delays}
    return {
        "node_usage": pa.concat_tables([one.usage for one in sampled.values()]),
        "machine_usage": named({name: one.machine for name, one in sampled.items()}),
        "timer_delays": named({name: one.delays for name, one in sampled.items()}),
    }
