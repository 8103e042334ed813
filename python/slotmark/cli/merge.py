"""`slotmark merge`: the outcome of what shards did together."""

from functools import partial
from typing import Annotated

import typer

from slotmark.benches.cluster.requests import Forecast, Logs, Question, Simulations
from slotmark.cli.console import progress
from slotmark.cli.reports import AsJson, SimulationsOption, report_runs, together_at
from slotmark.errors import ArgumentError
from slotmark.places import Place, folder_of, place


def merge(
    shards: Annotated[
        str, typer.Argument(metavar="DIR", help="The folder that a command with --shard wrote to, or its URL.")
    ],
    out: Annotated[
        str | None,
        typer.Option(
            "-o",
            "--out",
            metavar="DIR",
            help="Of predict and forecast: also write report.html, .pdf, .md and .json; of ingest the new run folder, or its URL in an "
            "object store; of simulate the folder of the runs.",
        ),
    ] = None,
    simulations: SimulationsOption = None,
    as_json: AsJson = False,
) -> None:
    """Merge what shards made: a single call's report of predict or forecast, run folder of ingest, or runs of simulate."""
    from slotmark.benches.cluster.simulating import question
    from slotmark.cli.forecast import merge_forecast
    from slotmark.engine import opened

    shared = place(shards)
    work = opened(shared).work
    if simulations is not None and work != Question.work:
        raise ArgumentError("--simulations works with shards of slotmark predict alone: leave it out.")
    if work in (Question.work, Forecast.work):
        folder = None if out is None else folder_of(out)
        if work == Forecast.work:
            merge_forecast(shared, folder, as_json=as_json)
        else:
            ask, together = partial(question.merged, shared), together_at(simulations)
            report_runs(ask, folder, unit="pieces", doing="reading", as_json=as_json, together=together)
        return
    if work not in (Logs.work, Simulations.work):
        raise ArgumentError(f"{shards}: its pieces are of {work!r}, which is no command of this slotmark.")
    if out is None:
        raise ArgumentError(
            f"merge: expected -o with the {'run folder' if work == Logs.work else 'folder for the runs'} to make."
        )
    if as_json:
        raise ArgumentError("--json works with reports alone. Of a run folder, slotmark show RUN --json prints it.")
    _merge_runs(work, shared, out)


def _merge_runs(work: str, shared: Place, out: str) -> None:
    """Merges shards that make runs, and prints what they are."""
    from slotmark.benches.cluster.ingesting import ingest
    from slotmark.benches.cluster.simulating import simulations
    from slotmark.cli.ingest import remark_ingested
    from slotmark.cli.simulate import remark_made

    with progress("pieces") as step:

        def advance(done: int, total: int) -> None:
            step(done, total, "reading")

        if work == Logs.work:
            remark = partial(remark_ingested, *ingest.merged(shared, place(out), advance))
        else:
            remark = partial(remark_made, simulations.merged(shared, folder_of(out), advance))
    remark()
