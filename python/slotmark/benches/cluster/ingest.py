"""Ingest: a folder of logs to a run folder, by one call or by several that share the reading."""

from collections.abc import Callable
from pathlib import Path

import msgspec

from slotmark import engine as engines
from slotmark.benches.cluster.finishing import Cluster, MeasuredHere, finish_run
from slotmark.benches.cluster.ingested import Ingested
from slotmark.benches.cluster.log_pieces import Surveyed, limits_of, merged_accounts, pieces_of, survey
from slotmark.benches.cluster.logs import HostLogs, host_logs, without_logs
from slotmark.benches.cluster.metadata import read_genesis, read_metadata, regions_of_topology
from slotmark.benches.cluster.refusals import refuse_damaged, refuse_other_genesis, refuse_rejected
from slotmark.benches.cluster.requests import IngestRequest, Logs
from slotmark.cores import usable_cores
from slotmark.engine import Engine, Progress, Shard, ShardDone, gathered, local, opened, options_of
from slotmark.errors import LogError
from slotmark.places import Place
from slotmark.run import Run, RunWriter

_BESIDE = Path("tables")
"""Where a shard's parts of tables are wanted: beside their piece's output, wherever that is kept."""


class _Looked(msgspec.Struct, frozen=True):
    """What is known of logs before they are read.

    Attributes:
        folder: The folder that they are in.
        found: The files.
        survey: What of each decides how they are cut.
    """

    folder: Path
    found: HostLogs
    survey: list[Surveyed]


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
    # One piece, whose threads share all that there is: the reading of many pieces would wait for the last thread of each.
    return _read(request, _look(request, request.out), on_step, here, local, 1)


def shard_done(logs: Logs, named: str, out: Place, on_step: Progress, threads: int = 0) -> ShardDone:
    """Reads a shard of the logs of a cluster, and keeps what it gives: :func:`slotmark.engine.shard_done`.

    Args:
        logs: The logs, the same for all shards.
        named: The shard, as ``3/40``: logs are read in as many pieces as there are shards.
        out: The folder that all shards share; a piece that is finished in it is not read again.
        on_step: Called with bytes done and in all; may raise to stop.
        threads: How many files at once; 0 for as many as there are cores.

    Raises:
        LogError: As :func:`ingest`.
    """
    of, looked = Shard.parsed(named).of, _look(logs, out)
    pieces = pieces_of(looked.survey, of, logs.host_from, _BESIDE, threads or usable_cores())
    return engines.shard_done(named, out, logs.work, logs.options(), lambda engine: engine(pieces, list, on_step))


def merged(shards: Place, out: Place, progress: Progress) -> tuple[Run, Ingested]:
    """Makes the run folder of logs that shards read, as a single call would. Of the logs it reads the beginnings and ends.

    Args:
        shards: The folder that all shards share.
        out: The new run.
        progress: Called with pieces read and in all.

    Raises:
        PieceError: Pieces are missing or damaged, or of another version.
        LogError: As :func:`ingest`.
        RunError: The run folder can't be written.
    """
    shared = opened(shards)
    logs = options_of(shards, shared, Logs)
    request = IngestRequest(**msgspec.structs.asdict(logs), out=out)
    return _read(request, _look(logs, out), progress, None, gathered(shards, shared, logs.command), shared.shards)


def _look(request: Logs, out: Place) -> _Looked:
    """Finds the logs, and looks at each."""
    if request.logs.is_dir() and isinstance(out, Path) and out.resolve().is_relative_to(request.logs.resolve()):
        raise LogError(f"{out}: lies inside {request.logs}, the logs. Choose an -o elsewhere.")
    found = host_logs(request.logs)
    folder = request.logs if request.logs.is_dir() else request.logs.parent
    try:
        return _Looked(folder, found, survey(found.logs))
    except OSError as error:
        raise LogError(
            f"{folder}: a log was there and can't be read ({error.strerror or error}). Ingest again, or ingest a copy."
        ) from error


def _read(
    request: IngestRequest, looked: _Looked, on_step: Progress, here: MeasuredHere | None, engine: Engine, pieces: int
) -> tuple[Run, Ingested]:
    """Reads logs in some pieces, and finishes the run folder."""
    folder, found = looked.folder, looked.found
    genesis = read_genesis(folder, request.genesis)
    metadata = read_metadata(folder, request.meta)
    regions = regions_of_topology(folder)
    with RunWriter(request.out) as writer:
        tables, threads = writer.tables_folder, request.threads or usable_cores()
        reading = pieces_of(looked.survey, pieces, request.host_from, tables, threads)
        ingested = engine(reading, lambda outputs: merged_accounts(looked.survey, outputs, tables), on_step)
        if not request.accept_damaged:
            refuse_damaged(ingested)
        refuse_rejected(ingested, request.max_rejected)
        if not any(host.kept for host in ingested.hosts):
            raise LogError(
                f"{request.logs}: no line of {ingested.lines:,} has anything that is measured. Are these logs of block producers?"
            )
        refuse_other_genesis(tables, genesis)
        cluster = Cluster(
            name=request.logs.resolve().name,
            target=request.target or metadata.ident or request.out.name,
            host_from=request.host_from,
            genesis=genesis,
            metadata=metadata,
            regions=regions,
            unread=[f"{path} ({why})" for path, why in found.unread],
            limits=limits_of(looked.survey),
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
