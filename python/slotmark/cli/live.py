"""`slotmark cluster run` and `clean`: clusters of real nodes on this machine."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import msgspec
import typer

from slotmark import warnings
from slotmark.benches.cluster.live.request import Session
from slotmark.cli.console import progress, reader_may_leave, talk
from slotmark.cli.engines import InsecureRay
from slotmark.cli.reports import AsJson, print_json, print_report
from slotmark.cli.requests import from_requests
from slotmark.cli.session import compare_rounds
from slotmark.errors import ArgumentError, TargetError
from slotmark.numbers import duration, fixed
from slotmark.options import Option
from slotmark.words import counted, listed

if TYPE_CHECKING:
    from slotmark.benches.cluster.live.cluster import Progress
    from slotmark.benches.cluster.live.sites.elsewhere import Reach


@from_requests
def run(
    session: Session,
    engine: Annotated[
        Literal["local", "ray"],
        Option("Where hosts run: on this machine, or on the machines of the Ray cluster that it belongs to."),
    ] = "local",
    insecure_ray: InsecureRay = False,
) -> None:
    """Run a cluster of real nodes, on this machine or on several, and make a run folder of what they logged.

    Ctrl-C ends it early and keeps what was measured.
    """
    from slotmark.benches.cluster.live.conducting import run_live
    from slotmark.cli.engines import reach_of

    if session.resume and not session.rounds:
        raise ArgumentError("--resume goes with --rounds: give the number of rounds.")
    session = msgspec.structs.replace(session, rounds=session.asked_rounds)
    reach = reach_of(engine, insecure=insecure_ray)
    noted = [warnings.insecure_ray()] if insecure_ray else []
    if session.rounds:
        _run_in_turns(session, reach, noted)
        return
    request = msgspec.structs.replace(
        session.each,
        node=next(iter(session.in_turns.values()), ""),
        name=listed(sorted(session.nodes)) if session.in_turns else "",
        of_role=session.of_role,
    )
    with _progress() as show:
        live = run_live(request, show, talk.remark, reach=reach, noted=noted)
    ingested = live.ingested
    talk.remark(
        f"{live.run.place}: {counted(len(ingested.hosts), 'host')}, {ingested.lines:,} lines, {ingested.rejected:,} unreadable; logs in {listed(live.output)}"
    )
    talk.warnings(live.run.manifest.warnings)
    typer.echo(live.run.place)
    if live.interrupted:
        raise KeyboardInterrupt
    if live.cut:
        raise TargetError(f"{live.cut}. What was measured until then is in {live.run.place}.")


def _run_in_turns(session: Session, reach: "Reach | None", noted: "Sequence[warnings.Warning]") -> None:
    from slotmark.benches.cluster.live.turns import run_in_turns

    mixed, out = session.mixed, session.each.out
    nodes = session.nodes if mixed else session.in_turns
    if len(nodes) < 2 or (mixed and (len(nodes) > 2 or not session.in_turns)):
        raise ArgumentError(
            f"{'--mixed' if mixed else '--rounds'}: expected two --node{', one of them without a role' if mixed else ' or more'}, with names: --node a='…' --node b='…'."
        )
    if mixed and session.rounds % 2:
        raise ArgumentError(
            f"--mixed --rounds {session.rounds}: hosts are swapped in each second round. Give an even number."
        )
    with _progress() as show:
        done = run_in_turns(session, show, talk.remark, reach, noted)
    made = [out / one.result.folder for of_round in done for one in of_round.measured]
    for path in made:
        typer.echo(path)
    sides = [made] if mixed else [[path for path in made if path.name.rpartition("-")[0] == name] for name in nodes]
    talk.remark(compare_rounds(sides, out))


def validate(
    run: Annotated[Path, typer.Argument(metavar="RUN", help="A run folder that `cluster run` made.")],
    bed: Annotated[
        Path | None, typer.Option(metavar="BED", help="The bed of the run; by default RUN.logs, which has its files.")
    ] = None,
    slots: Annotated[int, typer.Option(min=100, help="How many slots to simulate.")] = 20_000,
    as_json: AsJson = False,
) -> None:
    """Compare the simulator with a live run: simulate the run's stages and network, and compare block propagation, with a verdict per row."""
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


@from_requests
def clean(
    hosts: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="End them on the machines of these hosts, by Ray, and print the run directories there: docs/live.md.",
        ),
    ] = None,
    insecure_ray: InsecureRay = False,
) -> None:
    """End processes of live runs whose `cluster run` was killed and that the kernel hasn't ended."""
    from slotmark.benches.cluster.live.launching import end_leftovers
    from slotmark.measure.process import refuse_without_linux

    if hosts is None:
        refuse_without_linux("a live cluster")
        ended = end_leftovers()
        talk.remark(f"processes ended: {len(ended):,}" if ended else "nothing was left")
        return
    from slotmark.benches.cluster.live.sites.elsewhere import clean as cleaned
    from slotmark.cli.engines import reach_of
    from slotmark.engine.hosts import wanted

    reach = reach_of("ray", insecure=insecure_ray)
    assert reach is not None
    for one in cleaned(wanted(hosts), reach):
        talk.remark(f"{one.machine}: {f'processes ended: {one.ended:,}' if one.ended else 'no process was left'}")
        for folder in one.kept:
            typer.echo(f"{one.machine}: {folder}")


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
                words.append(f"{fixed(progress.tps, 1)} transactions a second")
            left = [] if progress.left_s is None else [f"{duration(progress.left_s)} left"]
            if progress.all_left_s is not None:
                left.append(f"about {duration(progress.all_left_s)} left of all rounds")
            say(", ".join([*words, *left]))

        yield show
