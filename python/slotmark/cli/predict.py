"""`slotmark predict`: what-if answers from the simulated cluster."""

import shlex
from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from slotmark.benches.cluster.sweep import Spacing
from slotmark.cli.console import progress
from slotmark.cli.engines import EngineName, InsecureRay, RayLabels, chosen
from slotmark.cli.profiles import PROFILE, Settings
from slotmark.cli.reports import AsJson, report_runs
from slotmark.errors import ArgumentError
from slotmark.words import counted


def predict(
    profile: Annotated[str, PROFILE],
    settings: Settings = None,
    sweep: Annotated[
        str | None,
        typer.Option(metavar="PARAM=LOW..HIGH", help="Predict over a range of a parameter: block_size=22kB..180kB."),
    ] = None,
    steps: Annotated[
        int | None, typer.Option(min=2, help="Values of the sweep, its ends among them: 7 unless given.")
    ] = None,
    spacing: Annotated[
        Spacing, typer.Option(help="Of the sweep's values; auto: geometric where the range is fourfold or more.")
    ] = Spacing.auto,
    against: Annotated[
        str | None,
        typer.Option(
            metavar="PROFILE",
            help="Beside this profile; a PROFILE file that extends nothing need only hold what differs.",
        ),
    ] = None,
    seeds: Annotated[int, typer.Option(min=1, help="Simulations of each variant: seeds 1 to N.")] = 5,
    out: Annotated[
        Path | None,
        typer.Option(
            "-o", "--out", metavar="DIR", help="Also write report.html, .pdf, .md and .json; with --shard, its folder."
        ),
    ] = None,
    shard: Annotated[
        str | None,
        typer.Option(
            metavar="N/OF",
            help="Do only the N-th of OF parts of the simulations, here or on another machine, into -o; then slotmark merge.",
        ),
    ] = None,
    engine: EngineName = "local",
    insecure_ray: InsecureRay = False,
    ray_labels: RayLabels = None,
    as_json: AsJson = False,
) -> None:
    """Predict block propagation: with parameters changed, beside the unchanged profile, or over a range of one."""
    import msgspec

    from slotmark.benches.cluster.question import Question, answered, shard_done

    if sweep is None and (steps is not None or spacing is not Spacing.auto):
        raise ArgumentError("--steps and --spacing are of a sweep: give --sweep PARAM=LOW..HIGH, or leave them out.")
    if sweep is not None and against is not None:
        raise ArgumentError("--against and --sweep: a sweep's values are beside each other; leave one out.")
    question = Question(
        profile=profile,
        settings=list(settings or ()),
        sweep=sweep,
        steps=steps,
        spacing=spacing,
        against=against,
        seeds=seeds,
    )
    if shard is None:
        with chosen(engine, out, insecure=insecure_ray, labels=ray_labels) as by:
            ask = partial(answered, question, engine=by.engine, noted=by.noted)
            report_runs(ask, out, unit=by.unit, doing="predicting", as_json=as_json)
        return
    if engine != "local":
        raise ArgumentError("--shard and --engine: a shard is done on this machine; leave one out.")
    if out is None:
        raise ArgumentError("--shard: expected -o with the folder that all shards share, as -o sweep.")
    with progress("slots") as step:
        done = shard_done(question, shard, out, lambda count, total: step(count, total, "predicting"))
    if as_json:
        typer.echo(msgspec.json.encode(done).decode())
        return
    before = f", {done.found:,} of them before" if done.found else ""
    typer.echo(
        f"Shard {done.shard}: {counted(done.pieces, 'piece')} finished{before}; of all shards {done.missing:,} are missing."
    )
    if not done.missing:
        typer.echo(f"Merge them: slotmark merge {shlex.quote(str(out))} -o OUT")
