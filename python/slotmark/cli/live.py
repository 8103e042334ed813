"""`slotmark cluster run` and `clean`: clusters of real nodes on this machine."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from slotmark.benches.cluster.live.plan import Network, OnDeath
from slotmark.cli.console import progress, reader_may_leave, talk
from slotmark.cli.quantities import duration_us
from slotmark.cli.reports import AsJson, print_json, print_report
from slotmark.errors import ArgumentError, TargetError
from slotmark.numbers import duration

if TYPE_CHECKING:
    from slotmark.benches.cluster.live.conducting import Progress


def run(
    bed: Annotated[Path, typer.Argument(metavar="BED", help="A folder that `cluster create` made.")],
    lasting: Annotated[
        str, typer.Option("--for", metavar="TIME", help="How long to measure, as 10m, once all hosts agree on a block.")
    ],
    out: Annotated[
        Path,
        typer.Option("-o", "--out", metavar="RUN", help="The new run folder; logs are kept in RUN.logs beside it."),
    ],
    node: Annotated[
        str,
        typer.Option(
            metavar="NODE",
            help="slotmark, cardano-node, dingo, a folder with a node.toml, or a command like cardano-node.",
        ),
    ] = "slotmark",
    network: Annotated[
        Network, typer.Option(help="Latencies of the bed, in a network emulated in user space; or none.")
    ] = "wan",
    on_death: Annotated[OnDeath, typer.Option(help="What to do when a node ends by itself.")] = "stop",
    start_in: Annotated[
        str, typer.Option(metavar="TIME", help="From the start of the nodes to slot 0; by their number by default.")
    ] = "",
    ready_within: Annotated[
        str,
        typer.Option(
            metavar="TIME", help="How long preparing may take, nodes to answer, and then to agree on a block."
        ),
    ] = "5m",
    grace: Annotated[
        str, typer.Option(metavar="TIME", help="How long nodes may take to end before they are killed.")
    ] = "30s",
    seed: Annotated[
        int, typer.Option(min=0, help="Of jitter and losses of the network, and of what transactions pay.")
    ] = 1,
    workload: Annotated[
        bool, typer.Option("--workload/--no-workload", help="Whether to submit the transactions of the bed's profile.")
    ] = True,
) -> None:
    """Run a cluster of real nodes on this machine, and make a run folder of what they logged.

    Ctrl-C ends it early and keeps what was measured.
    """
    from slotmark.benches.cluster.live.conducting import run_live
    from slotmark.benches.cluster.live.plan import Request

    request = Request(
        bed=bed,
        node=node,
        seconds=_seconds("--for", lasting),
        out=out,
        network=network,
        on_death=on_death,
        start_within_s=round(_seconds("--start-in", start_in)) if start_in else 0,
        ready_within_s=round(_seconds("--ready-within", ready_within)),
        grace_s=round(_seconds("--grace", grace)),
        seed=seed,
        workload=workload,
    )
    with _progress() as show:
        live = run_live(request, show, talk.remark)
    ingested = live.ingested
    talk.remark(
        f"{live.run.path}: {len(ingested.hosts)} hosts, {ingested.lines:,} lines, {ingested.rejected:,} unreadable; logs in {request.logs}"
    )
    talk.warnings(live.run.manifest.warnings)
    typer.echo(live.run.path)
    if live.interrupted:
        raise KeyboardInterrupt
    if live.cut:
        raise TargetError(f"{live.cut}. What was measured until then is in {live.run.path}.")


def validate(
    run: Annotated[Path, typer.Argument(metavar="RUN", help="A run folder that `cluster run` made.")],
    bed: Annotated[
        Path | None, typer.Option(metavar="BED", help="The bed of the run; RUN.logs, which has its files, by default.")
    ] = None,
    slots: Annotated[int, typer.Option(min=100, help="How many slots to simulate.")] = 20_000,
    as_json: AsJson = False,
) -> None:
    """Hold the simulator against a live run: the run's stages and network are simulated, and its block propagation is put beside, with a verdict per row."""
    from slotmark.benches.cluster.live.validating import validate as validated
    from slotmark.cli.validation_table import live_validation_document
    from slotmark.run import open_run

    opened = open_run(run)
    with progress("slots") as step:
        found = validated(
            opened, bed or run.with_name(run.name + ".logs"), slots, lambda done, total: step(done, total, "simulating")
        )
    with reader_may_leave():
        if as_json:
            print_json(found)
        else:
            print_report(live_validation_document(found), [])


def clean() -> None:
    """End processes of live runs whose `cluster run` was killed; the kernel does so by itself, unless a node left its reach."""
    from slotmark.benches.cluster.live.launching import end_leftovers

    ended = end_leftovers()
    talk.remark(f"{len(ended):,} processes ended" if ended else "nothing was left")


def _seconds(option: str, text: str) -> float:
    seconds = duration_us(option, text) / 1e6
    if seconds < 1:
        raise ArgumentError(f"{option} '{text}': expected at least 1s.")
    return seconds


@contextmanager
def _progress() -> Iterator[Callable[["Progress"], None]]:
    with talk.doing() as say:

        def show(progress: "Progress") -> None:
            agreement = progress.agreement
            words = [
                progress.doing,
                f"slot {progress.slot:,}" if progress.slot >= 0 else f"{-progress.slot} slots to slot 0",
                f"{progress.blocks:,} blocks",
                f"{agreement.hosts} of {agreement.of} hosts agree",
            ]
            if progress.tps is not None:
                words.append(f"{progress.tps:,.1f} transactions a second")
            left = [] if progress.left_s is None else [f"{duration(progress.left_s)} left"]
            say(", ".join([*words, *left]))

        yield show
