"""`slotmark cluster run` and `clean`: clusters of real nodes on this machine."""

import re
import shlex
from collections.abc import Callable, Iterator, Mapping, Sequence
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
    from slotmark.benches.cluster.live.plan import Request


def run(
    bed: Annotated[Path, typer.Argument(metavar="BED", help="A folder that `cluster create` made.")],
    lasting: Annotated[
        str, typer.Option("--for", metavar="TIME", help="How long to measure, as 10m, once all hosts agree on a block.")
    ],
    out: Annotated[
        Path,
        typer.Option(
            "-o",
            "--out",
            metavar="RUN",
            help="The new run folder; logs are kept in RUN.logs beside it. With --rounds, the folder that all of them are made in.",
        ),
    ],
    node: Annotated[
        list[str] | None,
        typer.Option(
            metavar="[NAME=]NODE",
            help="slotmark (the default), cardano-node, dingo, a folder with a node.toml, or a command like cardano-node; again for more that take turns or are mixed.",
        ),
    ] = None,
    rounds: Annotated[
        int | None,
        typer.Option(
            min=2,
            help="Run each --node once in each of this many rounds, in turns, each time from a fresh state; a run folder each.",
        ),
    ] = None,
    mixed: Annotated[
        bool,
        typer.Option(
            "--mixed",
            help="Let two --node share the hosts of one cluster in each of the --rounds, and swap them in the next.",
        ),
    ] = False,
    resume: Annotated[
        bool,
        typer.Option("--resume", help="Go on with the rounds in -o that were cut: those that are finished are kept."),
    ] = False,
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

    nodes = _nodes(node or [])
    if rounds is None and (len(nodes) > 1 or resume or mixed):
        raise ArgumentError("several --node, --mixed and --resume go with --rounds: give the number of rounds.")
    request = Request(
        bed=bed,
        node=next(iter(nodes.values()), ""),
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
    if rounds is not None:
        _run_in_turns(nodes, rounds, request, resume=resume, mixed=mixed)
        return
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


def _nodes(given: Sequence[str]) -> dict[str, str]:
    """The nodes by name: what stands before ``=``, or what the node is called by itself. ArgumentError where two have one name."""
    from slotmark.benches.cluster.live.nodes import resolve_node

    found: dict[str, str] = {}
    for text in given:
        name, equals, node = text.partition("=")
        if not equals or not re.fullmatch(r"[\w.-]*", name):
            name, node = resolve_node(text).name, text
        if not name or name.startswith("."):
            raise ArgumentError(f"--node '{text}': expected NAME='NODE', with a name that can be a folder's.")
        if name in found:
            raise ArgumentError(f"--node '{text}': '{name}' is there twice. Name each as NAME='NODE'.")
        found[name] = node
    return found


def _run_in_turns(nodes: Mapping[str, str], rounds: int, each: "Request", *, resume: bool, mixed: bool) -> None:
    from slotmark.benches.cluster.live.turns import Session, run_in_turns

    if len(nodes) < 2 or (mixed and len(nodes) > 2):
        raise ArgumentError(
            f"{'--mixed' if mixed else '--rounds'}: expected two --node{'' if mixed else ' or more'}, with names: --node a='…' --node b='…'."
        )
    if mixed and rounds % 2:
        raise ArgumentError(f"--mixed --rounds {rounds}: hosts are swapped in each second round. Give an even number.")
    with _progress() as show:
        session = Session(nodes=nodes, rounds=rounds, each=each, resume=resume, mixed=mixed)
        done = run_in_turns(session, show, talk.remark)
    made = [each.out / run for one in done for run in one.runs]
    for path in made:
        typer.echo(path)
    sides = [made] if mixed else [[path for path in made if path.name.rpartition("-")[0] == name] for name in nodes]
    words = ["slotmark", "compare", *(",".join(map(str, paths)) for paths in sides), "-o", str(each.out / "report")]
    talk.remark(f"Compare them: {shlex.join(words)}")


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
                f"{progress.run}: {progress.doing}" if progress.run else progress.doing,
                f"slot {progress.slot:,}" if progress.slot >= 0 else f"{-progress.slot} slots to slot 0",
                f"{progress.blocks:,} blocks",
                f"{agreement.hosts} of {agreement.of} hosts agree",
            ]
            if progress.tps is not None:
                words.append(f"{progress.tps:,.1f} transactions a second")
            left = [] if progress.left_s is None else [f"{duration(progress.left_s)} left"]
            if progress.all_left_s is not None:
                left.append(f"about {duration(progress.all_left_s)} left of all rounds")
            say(", ".join([*words, *left]))

        yield show
