"""`slotmark forecast`: what a change of the ledger does to a cluster, before one runs."""

from pathlib import Path
from typing import Annotated

import typer

from slotmark.benches.cluster.requests import SettingsOption
from slotmark.cli.console import progress
from slotmark.cli.engines import EngineName, InsecureRay, RayLabels, chosen
from slotmark.cli.reports import AsJson, opened_sides, show_report
from slotmark.cli.requests import from_requests


@from_requests
def forecast(
    ledger_runs: Annotated[
        list[str],
        typer.Argument(
            metavar="LEDGER_RUNS",
            help="A folder with the runs of two builds, as `ledger run` writes it; or BASELINE CANDIDATE, where several runs of one build are named as A1,A2.",
        ),
    ],
    profile: Annotated[
        str,
        typer.Option(
            metavar="PROFILE",
            help="The cluster: a TOML file or a shipped profile; `simulate --profiles` lists those. As it is, it stands for the baseline.",
        ),
    ],
    settings: SettingsOption = (),
    seeds: Annotated[int, typer.Option(min=2, help="Simulations of each side: seeds 1 to N.")] = 10,
    out: Annotated[
        Path | None,
        typer.Option(
            "-o",
            "--out",
            metavar="DIR",
            help="Write the run folders of both sides there, base and changed, and report.html, .pdf, .md and .json.",
        ),
    ] = None,
    engine: EngineName = "local",
    insecure_ray: InsecureRay = False,
    ray_labels: RayLabels = None,
    as_json: AsJson = False,
) -> None:
    """Forecast block propagation of a changed ledger: replay costs of two builds become stages of a simulated cluster."""
    from slotmark.benches.cluster.forecast import by_mode, refuse_what_cannot_be, replayed, two_sides
    from slotmark.benches.cluster.forecast import forecast as forecast_runs
    from slotmark.compare import compare
    from slotmark.compare.result import warnings_of_sides
    from slotmark.report import comparison_document
    from slotmark.temporary import temporary_folder

    changes = list(settings)
    with (
        temporary_folder() as scratch,
        chosen(engine, out, insecure=insecure_ray, labels=ray_labels) as by,
    ):
        folder = out or Path(scratch)
        refuse_what_cannot_be(profile, changes, folder)
        pairs = by_mode(two_sides(ledger_runs, opened_sides("forecast", ledger_runs)))
        # What may be compared, and what a reader should know of the replays, is what `compare` finds.
        replays = [compare(pair) for pair in pairs]
        scaled = replayed(pairs, (replays[0].baseline.name, replays[0].candidates[0].name), profile, changes)
        # Those of rows are about quantiles and other metrics.
        warnings = list(
            dict.fromkeys(found for one in replays for found in [*one.warnings, *warnings_of_sides(one.sides)])
        )
        with progress(by.unit) as step:
            runs = forecast_runs(
                profile,
                changes,
                scaled,
                warnings,
                range(1, seeds + 1),
                folder,
                lambda done, total: step(done, total, "forecasting"),
                by.engine,
                by.noted,
            )
        result = compare(runs)
        document = comparison_document(result)
    made = [] if out is None else [run.place for run in runs]
    show_report(document, result, out, as_json=as_json, before=made)
