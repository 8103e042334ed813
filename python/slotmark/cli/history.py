"""`slotmark history`: a metric over versions, and what changed."""

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from slotmark.cli.console import progress
from slotmark.cli.reports import AsJson, show_report
from slotmark.cli.store import DecisionsOption, StoreOption, time_ago_ns
from slotmark.errors import ArgumentError
from slotmark.numbers import share
from slotmark.places import place


class Search(StrEnum):
    """The method by which changes are looked for."""

    slotmark = "slotmark"
    e_divisive = "e-divisive"


def history(
    store: StoreOption,
    metric: Annotated[str | None, typer.Argument(metavar="METRIC", help="A metric's id, as adopted_by_096.")] = None,
    changes: Annotated[
        bool, typer.Option("--changes", help="All metrics: what changed, since when, how sure that is.")
    ] = False,
    since: Annotated[
        str | None,
        typer.Option(
            metavar="TIME",
            help="With --changes: what became known in this time, as 30d, 12h or 2w, or from a day on, as 2026-10-01.",
        ),
    ] = None,
    bench: Annotated[
        str, typer.Option(metavar="NAME", help="The metric's bench, where several have one of that id.")
    ] = "",
    policy: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE", help="Margins: a policy of `compare`; of --bench, or of the only bench of the store."
        ),
    ] = None,
    run_to_run: Annotated[
        Path | None,
        typer.Option(
            "--run-to-run",
            metavar="FILE",
            help="How much runs of one build differ: a table from `slotmark spread`. Without it, the table that comes with slotmark for the runs' cluster, if there is one.",
        ),
    ] = None,
    least: Annotated[
        int | None,
        typer.Option(
            min=2,
            max=100,
            help="Number of runs at a new level before a change can be sure; 3 by default. Not with e-divisive.",
        ),
    ] = None,
    significance: Annotated[
        str,
        typer.Option(
            metavar="SHARE",
            help="The p-value, adjusted over all series of the same runs, below which a change is sure.",
        ),
    ] = "0.01%",
    method: Annotated[
        Search,
        typer.Option(
            help="slotmark: run by run, by intervals; e-divisive: as Apache Otava, over the whole series at once."
        ),
    ] = Search.slotmark,
    decisions: DecisionsOption = None,
    as_json: AsJson = False,
) -> None:
    """Show a metric over all versions in a store, or what changed in any metric."""
    from slotmark.compare.deciding.policy import read_policy
    from slotmark.compare.run_to_run.spread_table import read_spread_table
    from slotmark.history import changes_of, history_of, open_store
    from slotmark.history.decisions import read_decisions
    from slotmark.report import changes_document, history_document
    from slotmark.statistics.change_points import Rules

    if (metric is None) != changes:
        raise ArgumentError("history: name one METRIC, or give --changes for all of them.")
    if since is not None and not changes:
        raise ArgumentError("--since: goes with --changes. A metric's history is shown from its beginning.")
    least_p = share(significance)
    if least_p is None or not 0 < least_p <= 0.05:
        raise ArgumentError(f"--significance '{significance}': expected a share above 0 and up to 5 %, as in 0.01%.")
    if least is not None and method is Search.e_divisive:
        raise ArgumentError(
            "--least: e-divisive looks at the whole series at once and has no such number. Leave it out."
        )
    rules = Rules(least=least or Rules().least, significance=least_p, likely=max(Rules().likely, least_p))
    since_ns = None if since is None else time_ago_ns("--since", since)
    opened = open_store(place(store))
    decided = read_decisions(opened, decisions)
    margins = read_policy(policy, bench or opened.only_bench()) if policy else None
    table = read_spread_table(run_to_run) if run_to_run else None
    if metric is not None:
        found = history_of(
            opened, metric, decided, bench=bench, rules=rules, policy=margins, table=table, method=method.value
        )
        show_report(history_document(found), found, None, as_json=as_json)
        return
    with progress("runs") as step:
        every = changes_of(
            opened,
            decided,
            bench=bench,
            since_ns=since_ns,
            rules=rules,
            policy=margins,
            table=table,
            method=method.value,
            progress=step,
        )
    show_report(changes_document(every), every, None, as_json=as_json)
