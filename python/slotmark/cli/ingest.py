"""`slotmark ingest`: the logs of a cluster to a run folder."""

from slotmark.benches.cluster.requests import IngestRequest
from slotmark.cli.console import progress, talk
from slotmark.cli.requests import from_requests
from slotmark.numbers import megabytes


@from_requests
def ingest(request: IngestRequest) -> None:
    """Read the logs of every host of a cluster into a run folder: typed tables, every line accounted for."""
    from slotmark.benches.cluster.ingest import ingest as run_ingest

    with progress("MB") as step:
        run, ingested = run_ingest(request, lambda done, total: step(done // 10**6, total // 10**6, "reading"))
    kept = sum(host.kept for host in ingested.hosts)
    talk.remark(
        f"{run.place}: {len(ingested.hosts)} hosts, {ingested.lines:,} lines, {kept:,} of interest, {ingested.rejected:,} unreadable, "
        f"{megabytes(ingested.bytes)}"
    )
    talk.warnings(run.manifest.warnings)
