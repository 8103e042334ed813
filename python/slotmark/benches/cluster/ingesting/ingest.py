"""Ingest: a folder of logs to a run folder, by one call or by several that share the reading."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import msgspec

from slotmark import engine as engines
from slotmark.benches.cluster.ingesting.finishing import Cluster, MeasuredHere, finish_run
from slotmark.benches.cluster.ingesting.ingested import Ingested
from slotmark.benches.cluster.ingesting.log_pieces import Surveyed, limits_of, merged_accounts, pieces_of
from slotmark.benches.cluster.ingesting.log_places import (
    LogPlace,
    Look,
    OnHost,
    Unread,
    description,
    log_place,
    look,
    look_at_host,
)
from slotmark.benches.cluster.ingesting.logs import without_logs
from slotmark.benches.cluster.ingesting.refusals import refuse_damaged, refuse_other_genesis, refuse_rejected
from slotmark.benches.cluster.metadata import read_genesis, read_metadata, regions_of_topology
from slotmark.benches.cluster.requests import IngestRequest, Logs
from slotmark.cores import usable_cores
from slotmark.engine import Engine, Piece, Progress, Shard, ShardDone, gathered, local, opened, options_of
from slotmark.errors import LogError
from slotmark.places import Place
from slotmark.run import Run, RunWriter
from slotmark.temporary import temporary_folder
from slotmark.warnings import Warning

_BESIDE = Path("tables")
"""The place of a shard's parts of tables: beside their piece's output, wherever that is kept."""


class Looked(msgspec.Struct, frozen=True):
    """Facts about logs before they are read.

    Attributes:
        name: What the run is called where its metadata has no tag.
        folder: A folder with the files that describe the run, as its genesis.
        survey: What of each file decides how all are cut.
        unread: Files beside them that can't be read.
        folders: Names of the folders beside the hosts' own.
    """

    name: str
    folder: Path
    survey: list[Surveyed]
    unread: Sequence[Unread] = ()
    folders: Sequence[str] = ()


def ingest(
    request: IngestRequest,
    on_step: Callable[[int, int], None] = lambda _done, _total: None,
    here: MeasuredHere | None = None,
    elsewhere: Engine | None = None,
    noted: Sequence[Warning] = (),
) -> tuple[Run, Ingested]:
    """Reads the logs of a cluster into a new run folder.

    Args:
        request: The request to carry out.
        on_step: Called with bytes done and in all, or with pieces where there is another engine; may raise to stop.
        here: What is known of the run where it was made on this machine.
        elsewhere: The engine of other machines that reads the logs; None for this machine.
        noted: Warnings about the engine.

    Raises:
        LogError: There are no logs or no genesis, a file is there twice or damaged, or too many lines can't be read; nothing was
            written.
        RunError: The run folder can't be written.
    """
    # Here it is one piece, whose threads share all that there is: the reading of many would wait for the last thread of each.
    by, pieces, threads = (elsewhere, None, 1) if elsewhere else (local, 1, request.threads or usable_cores())
    with _looked(request, request.out, elsewhere) as looked:
        reading = _reading(request, looked, on_step, by, pieces, threads)
        return ingest_with(request, looked, reading, here, noted)


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
    of = Shard.parsed(named).of
    with _looked(logs, out) as looked:
        read_genesis(looked.folder, logs.genesis)  # without one, nobody could merge what is read
        pieces = pieces_of(looked.survey, logs.host_from, _BESIDE, threads or usable_cores(), of)
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
    by = gathered(shards, shared, logs.command)
    with _looked(logs, out) as looked:
        return ingest_with(request, looked, _reading(request, looked, progress, by, shared.shards, usable_cores()))


@contextmanager
def _looked(logs: Logs, out: Place, elsewhere: Engine | None = None) -> Iterator[Looked]:
    """Finds the logs, and looks at each. What describes a run whose logs aren't in one folder of this machine is in one while this holds."""
    places = [log_place(named) for named in logs.logs]
    _refuse_inside(places, out)
    of_hosts = [at for at in places if isinstance(at, OnHost)]
    if of_hosts and elsewhere is None:
        raise LogError(
            f"{of_hosts[0]}: a folder of the host {of_hosts[0].host}, which that one reads: give --engine ray. A path of this machine has no ':' "
            "before its first '/', or ./ before it."
        )
    looking = [
        Piece(work=look_at_host, inputs=(at.path, at.host), label=at.host, host=at.host, lasting=False)
        for at in of_hosts
    ]
    there = iter(elsewhere(looking, list) if elsewhere and looking else [])
    looks = [next(there) if isinstance(at, OnHost) else look(at) for at in places]
    with temporary_folder() as scratch:
        folder = places[0]
        if len(places) > 1 or not isinstance(folder, Path):
            folder = _described(Path(scratch), places, looks)
        try:
            yield Looked(
                name=_name_of(places[0]),
                folder=folder if folder.is_dir() else folder.parent,
                survey=sorted((found for one in looks for found in one.survey), key=lambda found: found.place),
                unread=[found for one in looks for found in one.unread],
                folders=sorted({name for one in looks for name in one.folders}),
            )
        except LogError as error:
            raise LogError(str(error).replace(scratch, logs.named)) from error


def _name_of(at: LogPlace) -> str:
    return Path(at.path).name if isinstance(at, OnHost) else at.resolve().name


def _refuse_inside(places: Sequence[LogPlace], out: Place) -> None:
    """Raises LogError where the run would lie among its logs."""
    for at in places:
        if (
            isinstance(at, Path)
            and at.is_dir()
            and isinstance(out, Path)
            and out.resolve().is_relative_to(at.resolve())
        ):
            raise LogError(f"{out}: lies inside {at}, the logs. Choose an -o elsewhere.")


def _described(folder: Path, places: Sequence[LogPlace], looks: Sequence[Look]) -> Path:
    """A folder with what describes a run whose logs aren't in one folder of this machine: of each file the first that a place has."""
    for at, one in reversed(list(zip(places, looks, strict=True))):
        here = at if isinstance(at, Path) else None
        found = description(here if here.is_dir() else here.parent) if here else one.description
        for name, content in found.items():
            (folder / name).parent.mkdir(exist_ok=True)
            (folder / name).write_bytes(content)
    return folder


def _reading(
    request: IngestRequest, looked: Looked, on_step: Progress, engine: Engine, pieces: int | None, threads: int
) -> Callable[[Path], Ingested]:
    """The function that has logs read in some pieces into a folder of tables; in as many as other machines take where their number isn't given."""

    def reading(tables: Path) -> Ingested:
        asked = pieces_of(looked.survey, request.host_from, tables, threads, pieces)
        return engine(asked, lambda outputs: merged_accounts(looked.survey, outputs, tables), on_step)

    return reading


def ingest_with(
    request: IngestRequest,
    looked: Looked,
    reading: Callable[[Path], Ingested],
    here: MeasuredHere | None = None,
    noted: Sequence[Warning] = (),
) -> tuple[Run, Ingested]:
    """Makes a run folder of logs that were looked at.

    Args:
        request: The request to carry out.
        looked: What is known of the logs.
        reading: Writes their tables into a folder, and gives the result of all lines.
        here: What is known of the run where slotmark made it.
        noted: Warnings about how the logs were read.

    Raises:
        LogError: There is no genesis, or too many lines can't be read; nothing was written.
        RunError: The run folder can't be written.
    """
    genesis = read_genesis(looked.folder, request.genesis)
    metadata = read_metadata(looked.folder, request.meta)
    regions = regions_of_topology(looked.folder)
    with RunWriter(request.out) as writer:
        tables = writer.tables_folder
        ingested = reading(tables)
        if not request.accept_damaged:
            refuse_damaged(ingested)
        refuse_rejected(ingested, request.max_rejected)
        if not any(host.kept for host in ingested.hosts):
            raise LogError(
                f"{request.named}: no line of {ingested.lines:,} has anything that is measured. Are these logs of block producers?"
            )
        refuse_other_genesis(tables, genesis)
        hosts = [*(host.host for host in ingested.hosts), *(one.host for one in looked.unread)]
        # Lines may name hosts by other names than the topology has.
        named = list(regions) if request.host_from == "path" or any(host in regions for host in hosts) else []
        cluster = Cluster(
            name=looked.name,
            target=request.target or metadata.ident or request.out.name,
            host_from=request.host_from,
            genesis=genesis,
            metadata=metadata,
            regions=regions,
            unread=[f"{one.place} ({one.why})" for one in looked.unread],
            limits=limits_of(looked.survey),
            missing=without_logs(hosts, named, looked.folders if request.host_from == "path" else []),
            here=here,
            noted=noted,
            clock_limit_ms=request.clock_limit_ms,
            correct_clocks=request.correct_clocks,
        )
        run = finish_run(writer, cluster, ingested)
    return run, ingested
