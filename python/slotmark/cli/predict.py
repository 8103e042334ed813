"""`slotmark predict`: what-if answers from the simulated cluster."""

from pathlib import Path
from typing import Annotated

import typer

from slotmark.benches.cluster.sweep import Spacing
from slotmark.cli.console import progress
from slotmark.cli.profiles import PROFILE, Settings
from slotmark.cli.reports import AsJson, print_json, print_report
from slotmark.errors import ArgumentError

STEPS = 7


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
        Path | None, typer.Option("-o", "--out", metavar="DIR", help="Also write report.html, .pdf, .md and .json.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Predict block propagation: with parameters changed, beside the unchanged profile, or over a range of one."""
    import tempfile

    from slotmark.benches.cluster.predict import predict_change, predict_sweep
    from slotmark.benches.cluster.sweep import parse_sweep
    from slotmark.compare import alone, compare
    from slotmark.report import comparison_document, write_report

    changes, numbers = list(settings or ()), range(1, seeds + 1)
    if sweep is None and (steps is not None or spacing is not Spacing.auto):
        raise ArgumentError("--steps and --spacing are of a sweep: give --sweep PARAM=LOW..HIGH, or leave them out.")
    if sweep is not None and against is not None:
        raise ArgumentError("--against and --sweep: a sweep's values are beside each other; leave one out.")
    swept = None if sweep is None else parse_sweep(sweep, spacing)
    with tempfile.TemporaryDirectory(prefix="slotmark-") as folder:
        with progress("slots") as step:

            def advance(done: int, total: int) -> None:
                step(done, total, "predicting")

            if swept is None:
                runs = predict_change(profile, changes, numbers, Path(folder), advance, against)
            else:
                runs = predict_sweep(profile, swept, steps or STEPS, changes, numbers, Path(folder), advance)
        result = compare(runs) if len(runs) > 1 else alone(runs[0])
        document = comparison_document(result)
    written = write_report(document, result, out) if out is not None else []
    if as_json:
        print_json(result)
    else:
        print_report(document, written)
