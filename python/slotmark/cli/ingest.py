"""`slotmark ingest`: the logs of a cluster to a run folder."""

from typing import TYPE_CHECKING, Annotated

import typer

from slotmark.benches.cluster.requests import IngestRequest
from slotmark.cli.console import progress, talk
from slotmark.cli.requests import from_requests
from slotmark.cli.shards import ShardOption, print_shard
from slotmark.errors import ArgumentError
from slotmark.numbers import megabytes

if TYPE_CHECKING:
    from slotmark.benches.cluster.ingested import Ingested
    from slotmark.run import Run


@from_requests
def ingest(
    request: IngestRequest,
    *,
    shard: ShardOption = None,
    as_json: Annotated[bool, typer.Option("--json", help="With --shard: print what was done as JSON.")] = False,
) -> None:
    """Read the logs of every host of a cluster into a run folder: typed tables, every line accounted for."""
    from slotmark.benches.cluster.ingest import ingest as run_ingest
    from slotmark.benches.cluster.ingest import shard_done

    if as_json and shard is None:
        raise ArgumentError("--json: is of --shard here; of a run folder it is slotmark show RUN --json. Leave it out.")
    with progress("MB") as step:

        def advance(done: int, total: int) -> None:
            step(done // 10**6, total // 10**6, "reading")

        if shard is not None:
            made = shard_done(request.shared, shard, request.out, advance, request.threads)
        else:
            made = run_ingest(request, advance)
    if isinstance(made, tuple):
        remark_ingested(*made)
    else:
        print_shard(made, request.out, as_json=as_json)


def remark_ingested(run: "Run", ingested: "Ingested") -> None:
    """Prints the outcome of the logs of a run, and its warnings."""
    kept = sum(host.kept for host in ingested.hosts)
    talk.remark(
        f"{run.place}: {len(ingested.hosts)} hosts, {ingested.lines:,} lines, {kept:,} of interest, {ingested.rejected:,} unreadable, "
        f"{megabytes(ingested.bytes)}"
    )
    talk.warnings(run.manifest.warnings)
