"""`slotmark predict`: what-if answers from the simulated cluster."""

from functools import partial
from typing import Annotated

from slotmark.benches.cluster.requests import Question
from slotmark.benches.cluster.sweep import Spacing
from slotmark.cli.console import progress
from slotmark.cli.engines import EngineRequest, chosen
from slotmark.cli.reports import AsJson, SimulationsOption, report_runs, together_at
from slotmark.cli.requests import from_requests
from slotmark.cli.shards import ShardOption, print_shard, shared_folder
from slotmark.errors import ArgumentError
from slotmark.options import Option
from slotmark.places import Place, folder_of, place_of_option


@from_requests
def predict(
    question: Question,
    out: Annotated[
        Place | None,
        Option(
            "Also write report.html, .pdf, .md and .json; with --shard, the folder that all shards share, or its URL.",
            "DIR",
            ("-o", "--out"),
            parse=place_of_option,
        ),
    ] = None,
    simulations: SimulationsOption = None,
    shard: ShardOption = None,
    *,
    work: EngineRequest,
    as_json: AsJson = False,
) -> None:
    """Predict block propagation: for a profile, for changed parameters compared with the unchanged profile, or over a range of a parameter."""
    from slotmark.benches.cluster.simulating.question import answered, shard_done

    if question.sweep is None and (question.steps is not None or question.spacing is not Spacing.auto):
        raise ArgumentError("--steps and --spacing need a sweep: give --sweep PARAM=LOW..HIGH, or leave them out.")
    if question.sweep is not None and question.against is not None:
        raise ArgumentError("--against and --sweep: a sweep compares its own values; leave one out.")
    if shard is None:
        folder = None if out is None else folder_of(out)
        with chosen(work, folder) as by:
            ask = partial(answered, question, engine=by.engine, noted=by.noted)
            together = together_at(simulations)
            report_runs(ask, folder, unit=by.unit, doing="predicting", as_json=as_json, together=together)
        return
    if simulations is not None:
        raise ArgumentError("--shard and --simulations: slotmark merge writes the run of all shards; leave one out.")
    shared = shared_folder(out, work.engine)
    with progress("slots") as step:
        done = shard_done(question, shard, shared, lambda count, total: step(count, total, "predicting"))
    print_shard(done, shared, as_json=as_json)
