"""`slotmark predict`: what-if answers from the simulated cluster."""

import shlex
from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from slotmark.benches.cluster.requests import Question
from slotmark.benches.cluster.sweep import Spacing
from slotmark.cli.console import progress
from slotmark.cli.engines import EngineName, InsecureRay, RayLabels, chosen
from slotmark.cli.reports import AsJson, report_runs
from slotmark.cli.requests import from_requests
from slotmark.errors import ArgumentError
from slotmark.words import counted


@from_requests
def predict(
    question: Question,
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

    from slotmark.benches.cluster.question import answered, shard_done

    if question.sweep is None and (question.steps is not None or question.spacing is not Spacing.auto):
        raise ArgumentError("--steps and --spacing are of a sweep: give --sweep PARAM=LOW..HIGH, or leave them out.")
    if question.sweep is not None and question.against is not None:
        raise ArgumentError("--against and --sweep: a sweep's values are beside each other; leave one out.")
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
