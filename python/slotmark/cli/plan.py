"""`slotmark plan`: what a decision takes, in runs, rounds or mixed rounds, and what comparisons of such runs find."""

from pathlib import Path
from typing import Annotated

import typer

from slotmark.cli.gate import EarlierStoreOption, RunToRunOption, spread_source
from slotmark.cli.reports import AsJson, Out, opened_sides, show_report
from slotmark.cli.requests import from_requests
from slotmark.cli.show import Filters
from slotmark.options import share_of_metric


@from_requests
def plan(
    runs: Annotated[
        list[str],
        typer.Argument(
            metavar="RUN...",
            help="Run folders, or folders of such: one or more runs of a build, rounds that builds took in turns, or mixed rounds.",
        ),
    ],
    detect: Annotated[
        list[str] | None,
        typer.Option(
            metavar="METRIC=SHARE",
            help="A difference to find, as adopted_by_096=2%; again for more.",
        ),
    ] = None,
    out: Out = None,
    filters: Filters = None,
    policy: Annotated[
        Path | None, typer.Option(metavar="FILE", help="The policy with ranks and margins: TOML, as for `compare`.")
    ] = None,
    run_to_run: RunToRunOption = None,
    earlier_store: EarlierStoreOption = None,
    as_json: AsJson = False,
) -> None:
    """Print the number of runs that a decision or a given difference needs, by each design, and the smallest differences that such runs can show."""
    from slotmark.compare.deciding.policy import read_policy
    from slotmark.compare.matching.sides import builds
    from slotmark.compare.plan import plan as plan_runs
    from slotmark.metrics import parse_filters
    from slotmark.report import plan_document

    wanted = dict(share_of_metric("--detect", text, "adopted_by_096=2%") for text in detect or [])
    opened = [run for side in opened_sides("plan", runs) for run in side]
    bench = opened[0].manifest.bench
    chosen = None if filters is None else parse_filters(filters, bench)
    deciding = read_policy(policy, bench) if policy else None
    found = plan_runs(
        builds(opened),
        detect=wanted,
        policy=deciding,
        run_to_run=spread_source(run_to_run, earlier_store, opened),
        filters=chosen,
    )
    document = plan_document(found)
    show_report(document, found, out, as_json=as_json)
