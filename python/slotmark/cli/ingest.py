"""`slotmark ingest`: the logs of a cluster to a run folder."""

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from slotmark.cli.console import progress, talk
from slotmark.numbers import megabytes
from slotmark.options import duration_us, fraction
from slotmark.places import place


class HostFrom(StrEnum):
    """The source of a log line's host."""

    path = "path"
    field = "field"


def ingest(
    logs: Annotated[
        Path,
        typer.Argument(metavar="LOGDIR", help="A folder with a folder or a file of logs a host; .gz and .zst too."),
    ],
    out: Annotated[
        str, typer.Option("-o", "--out", metavar="RUN", help="The new run folder, or its URL in an object store.")
    ],
    genesis: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="The Shelley genesis, where LOGDIR hasn't genesis/genesis.shelley.json."),
    ] = None,
    meta: Annotated[Path | None, typer.Option(metavar="FILE", help="The run's meta.json, where LOGDIR hasn't.")] = None,
    target: Annotated[
        str, typer.Option(metavar="NAME", help="What to call the target; by default what meta.json says.")
    ] = "",
    host_from: Annotated[
        HostFrom, typer.Option(help="A line's host: where its file lies, or its field 'host'.")
    ] = HostFrom.path,
    max_rejected: Annotated[
        str, typer.Option(metavar="SHARE", help="Fail when more of the lines can't be read; nothing is written then.")
    ] = "0.1%",
    accept_damaged: Annotated[
        bool,
        typer.Option(
            "--accept-damaged", help="Read packed logs that are damaged as far as possible; else nothing is written."
        ),
    ] = False,
    correct_clocks: Annotated[
        bool,
        typer.Option(
            "--correct-clocks",
            help="Read the times of hosts with wrong clocks as estimated from the messages between hosts.",
        ),
    ] = False,
    clock_limit: Annotated[
        str, typer.Option(metavar="TIME", help="A clock that is farther than this from the others is wrong.")
    ] = "5ms",
    threads: Annotated[int, typer.Option(min=0, help="How many files at once; 0 for as many as there are cores.")] = 0,
) -> None:
    """Read the logs of every host of a cluster into a run folder: typed tables, every line accounted for."""
    from slotmark.benches.cluster.ingest import Request
    from slotmark.benches.cluster.ingest import ingest as run_ingest

    request = Request(
        logs=logs,
        out=place(out),
        genesis=genesis,
        meta=meta,
        target=target,
        host_from=host_from.value,
        max_rejected=fraction("--max-rejected", max_rejected),
        accept_damaged=accept_damaged,
        threads=threads,
        clock_limit_ms=duration_us("--clock-limit", clock_limit) / 1e3,
        correct_clocks=correct_clocks,
    )
    with progress("MB") as step:
        run, ingested = run_ingest(request, lambda done, total: step(done // 10**6, total // 10**6, "reading"))
    kept = sum(host.kept for host in ingested.hosts)
    talk.remark(
        f"{run.place}: {len(ingested.hosts)} hosts, {ingested.lines:,} lines, {kept:,} of interest, {ingested.rejected:,} unreadable, "
        f"{megabytes(ingested.bytes)}"
    )
    talk.warnings(run.manifest.warnings)
