"""`slotmark ingest`: the logs of a cluster to a run folder."""

from typing import TYPE_CHECKING, Annotated

import typer

from slotmark.benches.cluster.requests import IngestRequest
from slotmark.cli.console import progress, talk
from slotmark.cli.engines import Chosen, EngineRequest, chosen
from slotmark.cli.requests import from_requests
from slotmark.cli.shards import ShardOption, print_shard, shared_folder
from slotmark.errors import ArgumentError
from slotmark.numbers import megabytes
from slotmark.words import counted

if TYPE_CHECKING:
    from collections.abc import Callable

    from slotmark.benches.cluster.ingesting.ingested import Ingested
    from slotmark.run import Run


@from_requests
def ingest(
    request: IngestRequest,
    *,
    shard: ShardOption = None,
    work: EngineRequest,
    as_json: Annotated[bool, typer.Option("--json", help="With --shard: print what was done as JSON.")] = False,
) -> None:
    """Read the logs of every host of a cluster into a run folder: typed tables, every line accounted for."""
    from slotmark.benches.cluster.ingesting.ingest import shard_done

    if as_json and shard is None:
        raise ArgumentError("--json works with --shard alone. Of a run folder, slotmark show RUN --json prints it.")
    if shard is not None:
        folder = shared_folder(request.out, work.engine)
        with progress("MB") as step:
            done = shard_done(request.shared, shard, folder, _megabytes(step), request.threads)
        print_shard(done, folder, as_json=as_json)
        return
    with chosen(work, request.out, whole=True) as by:
        run, ingested = _ingested(request, None if work.engine == "local" else by)
    remark_ingested(run, ingested)


def _ingested(request: IngestRequest, by: Chosen | None) -> "tuple[Run, Ingested]":
    """Reads logs, by another engine where there is one."""
    from slotmark.benches.cluster.ingesting.ingest import ingest as run_ingest

    if by is None:
        with progress("MB") as step:
            return run_ingest(request, _megabytes(step))
    with progress(by.unit) as step:
        return run_ingest(request, lambda done, total: step(done, total, "reading"), None, by.engine, by.noted)


def _megabytes(step: "Callable[[int, int, str], None]") -> "Callable[[int, int], None]":
    return lambda done, total: step(done // 10**6, total // 10**6, "reading")


def remark_ingested(run: "Run", ingested: "Ingested") -> None:
    """Prints the outcome of the logs of a run, and its warnings."""
    from slotmark.benches.cluster.ingesting.finishing import without_blocks

    kept = sum(host.kept for host in ingested.hosts)
    talk.remark(
        f"{run.place}: {counted(len(ingested.hosts), 'host')}, {ingested.lines:,} lines, {kept:,} of interest, {ingested.rejected:,} unreadable, "
        f"{megabytes(ingested.bytes)}"
    )
    talk.warnings([*run.manifest.warnings, *without_blocks(run)])
