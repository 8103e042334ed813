"""`slotmark forecast`: what a change of the ledger does to a cluster, before one runs."""

from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from slotmark.benches.cluster.requests import Forecast
from slotmark.cli.console import progress
from slotmark.cli.engines import Chosen, EngineRequest, chosen
from slotmark.cli.reports import AsJson, opened_sides, show_report
from slotmark.cli.requests import from_requests
from slotmark.cli.shards import ShardOption, print_shard, shared_folder
from slotmark.options import Option
from slotmark.places import Place, folder_of, place_of_option

if TYPE_CHECKING:
    from slotmark.engine import Engine
    from slotmark.run import Run
    from slotmark.warnings import Warning


@from_requests
def forecast(
    asked: Forecast,
    out: Annotated[
        Place | None,
        Option(
            "Write the run folders of both sides there, base and changed, and report.html, .pdf, .md and .json; with --shard, the folder "
            "that all shards share, or its URL.",
            "DIR",
            ("-o", "--out"),
            parse=place_of_option,
        ),
    ] = None,
    shard: ShardOption = None,
    *,
    work: EngineRequest,
    as_json: AsJson = False,
) -> None:
    """Forecast block propagation of a changed ledger: replay costs of two builds become stages of a simulated cluster."""
    from slotmark.engine import shard_done
    from slotmark.temporary import temporary_folder

    if shard is None:
        folder = None if out is None else folder_of(out)
        with chosen(work, folder) as by:
            report_forecast(asked, folder, by, as_json=as_json)
        return
    shared = shared_folder(out, work.engine)
    with temporary_folder() as scratch:
        ask = partial(_forecast_runs, asked, Path(scratch))
        done = shard_done(shard, shared, asked.work, asked.options(), ask)
    print_shard(done, shared, as_json=as_json)


def merge_forecast(shards: Place, out: Path | None, *, as_json: bool) -> None:
    """Prints and writes the forecast whose simulations were shared, as a single call would."""
    from slotmark.engine import gathered, opened, options_of

    shared = opened(shards)
    asked = options_of(shards, shared, Forecast)
    report_forecast(asked, out, Chosen(gathered(shards, shared, asked.command), "pieces"), as_json=as_json)


def report_forecast(asked: Forecast, out: Path | None, by: Chosen, *, as_json: bool) -> None:
    """Prints the report of a forecast, and writes it and its runs where that is asked for.

    Args:
        asked: The forecast that is asked for.
        out: The folder that the report is written to; None for none.
        by: The engine that does the simulations.
        as_json: Whether JSON is printed in the place of tables.
    """
    from slotmark.compare import compare
    from slotmark.report import comparison_document
    from slotmark.temporary import temporary_folder

    with temporary_folder() as scratch:
        runs = _forecast_runs(asked, out or Path(scratch), by.engine, by.unit, by.noted)
        result = compare(runs)
        document = comparison_document(result)
    made = [] if out is None else [run.place for run in runs]
    show_report(document, result, out, as_json=as_json, before=made)


def _forecast_runs(
    asked: Forecast, folder: Path, engine: "Engine", unit: str = "slots", noted: "Sequence[Warning]" = ()
) -> "list[Run]":
    """The runs of a forecast, below a folder."""
    from slotmark.benches.cluster.simulating.forecast import (
        by_mode,
        forecast,
        refuse_what_cannot_be,
        replayed,
        two_sides,
    )
    from slotmark.compare import compare
    from slotmark.compare.result import warnings_of_sides

    profile, changes = asked.profile, asked.settings
    refuse_what_cannot_be(profile, changes, folder)
    pairs = by_mode(two_sides(asked.ledger_runs, opened_sides("forecast", asked.ledger_runs)))
    # What may be compared, and what a reader should know of the replays, is what `compare` finds.
    replays = [compare(pair) for pair in pairs]
    scaled = replayed(pairs, (replays[0].baseline.name, replays[0].candidates[0].name), profile, changes)
    # Those of rows are about quantiles and other metrics.
    warnings = list(dict.fromkeys(found for one in replays for found in [*one.warnings, *warnings_of_sides(one.sides)]))
    with progress(unit) as step:
        return forecast(
            profile,
            changes,
            scaled,
            warnings,
            range(1, asked.seeds + 1),
            folder,
            lambda done, total: step(done, total, "forecasting"),
            engine,
            noted,
        )
