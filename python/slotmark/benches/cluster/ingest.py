"""Ingest: a folder of logs to a run folder."""

from collections.abc import Callable
from pathlib import Path

import msgspec

from slotmark.benches.cluster.finishing import Cluster, MeasuredHere, finish_run
from slotmark.benches.cluster.ingested import Ingested
from slotmark.benches.cluster.log_pieces import Surveyed, limits_of, merged_accounts, pieces_of, survey
from slotmark.benches.cluster.logs import HostLogs, host_logs, without_logs
from slotmark.benches.cluster.metadata import read_genesis, read_metadata, regions_of_topology
from slotmark.benches.cluster.refusals import refuse_damaged, refuse_other_genesis, refuse_rejected
from slotmark.benches.cluster.requests import IngestRequest
from slotmark.cores import usable_cores
from slotmark.engine import Engine, Progress, local
from slotmark.errors import LogError
from slotmark.run import Run, RunWriter


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
    return _read(request, _look(request), on_step, here, local, 1)


def _look(request: IngestRequest) -> _Looked:
    """Finds the logs, and looks at each."""
    if (
        request.logs.is_dir()
        and isinstance(request.out, Path)
        and request.out.resolve().is_relative_to(request.logs.resolve())
    ):
        raise LogError(f"{request.out}: lies inside {request.logs}, the logs. Choose an -o elsewhere.")
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
