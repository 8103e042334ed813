"""From a store to the history of a metric, and to the changes of all metrics."""

from collections.abc import Iterator, Sequence
from typing import Literal

import numpy as np

from slotmark.compare.deciding.policy import Policy
from slotmark.compare.run_to_run.spread_table import SpreadTable
from slotmark.errors import ArgumentError, did_you_mean
from slotmark.history.columns import Column, Estimates, Read, whole
from slotmark.history.decisions import Decisions
from slotmark.history.differences import spread_of
from slotmark.history.finding import CONFIDENCE, Method, found_changes
from slotmark.history.results import Changes, FoundChange, History, SeriesHistory, VersionLine
from slotmark.history.series import Group
from slotmark.history.store import Progress, Store
from slotmark.metrics import Metric, catalogue
from slotmark.statistics.between_runs import Spread
from slotmark.statistics.change_points import Rules
from slotmark.statistics.interval import Interval
from slotmark.statistics.mean_difference import from_scale
from slotmark.statistics.student import student


def history_of(
    store: Store,
    metric_id: str,
    decisions: Decisions,
    *,
    bench: str = "",
    rules: Rules | None = None,
    policy: Policy | None = None,
    table: SpreadTable | None = None,
    method: Method = "slotmark",
) -> History:
    """The history of a metric.

    Args:
        store: The store.
        metric_id: Id of the metric.
        decisions: What readers decided.
        bench: The bench of the metric, where several have one of that id; empty for the only one.
        rules: Settings of the search for changes.
        policy: Margins in the place of the catalogue's.
        table: How much runs of one build differ; None for the table that comes with slotmark for the runs' cluster, if there is one.
        method: How changes are looked for.

    Raises:
        ArgumentError: No run of the store has such a metric, or several benches do.
        ComparisonError: The table is of no runs of the store.
        StoreError: The store is damaged.
    """
    read = Read(store, decisions, table)
    benches = _refuse_bench(read, bench)
    having = [one for one in ([bench] if bench else benches) if _metric(one, metric_id)]
    if not having:
        known = sorted({metric.id for one in benches for metric in catalogue(one).metrics})
        raise ArgumentError(
            f"{metric_id}: no run in {store.place} has that metric.{did_you_mean(metric_id, known)} `slotmark show RUN --json` of one has them all."
        )
    if len(having) > 1:
        raise ArgumentError(
            f"{metric_id}: benches {', '.join(having)} have a metric of that id. Choose one: --bench {having[0]}"
        )
    metric = _with_margin(catalogue(having[0])[metric_id], policy)
    found: list[SeriesHistory] = []
    for group in sorted(read.groups):
        if group.bench == having[0]:
            found += _series(read, group, metric, rules or Rules(), method)
    read.refuse_unused_table()
    return History(store=str(store.place), bench=having[0], metric=metric_id, series=found, left_out=read.left_out)


def changes_of(
    store: Store,
    decisions: Decisions,
    *,
    bench: str = "",
    since_ns: int | None = None,
    rules: Rules | None = None,
    policy: Policy | None = None,
    table: SpreadTable | None = None,
    method: Method = "slotmark",
    progress: Progress | None = None,
) -> Changes:
    """The changes of all metrics that are tested.

    Args:
        store: The store.
        decisions: What readers decided.
        bench: Only metrics of this bench; empty for all.
        since_ns: Only those that became known from this time on, in ns since 1970; None for all.
        rules: As above.
        policy: As above.
        table: As above.
        method: As above.
        progress: Called with how many runs are done, of how many, and of what; may raise to stop.

    Raises:
        ComparisonError: The table is of no runs of the store.
        StoreError: The store is damaged.
        RunError: A bench of its runs is unknown.
    """
    read = Read(store, decisions, table)
    _refuse_bench(read, bench)
    found: list[FoundChange] = []
    series = unsearched = runs = 0
    groups = [group for group in sorted(read.groups) if bench in ("", group.bench)]
    total = sum(len(read.groups[group]) for group in groups)
    for group in groups:
        if progress:
            progress(runs, total, " ".join(filter(None, (group.bench, group.target))))
        metrics = [_with_margin(one, policy) for one in catalogue(group.bench).metrics if one.tested]
        estimates = read.estimates(group, metrics)
        found += found_changes(read, estimates, metrics, rules or Rules(), method)
        series += len(estimates.columns)
        if method == "slotmark":
            unsearched += sum(not column.searched for column in estimates.columns.values())
        runs += len(estimates.rows)
    read.refuse_unused_table()
    found = [one for one in found if since_ns is None or one.known_ns >= since_ns]
    found.sort(key=lambda one: (-one.known_ns, -one.at_ns, one.group, one.metric, one.part))
    return Changes(
        store=str(store.place),
        since_ns=since_ns,
        runs=runs,
        series=series,
        changes=[one for one in found if one.matters and not one.accepted],
        accepted=[one for one in found if one.accepted],
        within=sum(not one.matters and not one.accepted for one in found),
        unsearched=unsearched,
        left_out=read.left_out,
    )


def _refuse_bench(read: Read, bench: str) -> list[str]:
    """The benches of the runs. ArgumentError where the one that is asked for isn't among them."""
    benches = sorted({group.bench for group in read.groups})
    if bench and bench not in benches:
        raise ArgumentError(
            f"--bench {bench}: {read.store.place} has no run of that bench. It has: {', '.join(benches) or 'none'}."
        )
    return benches


def _metric(bench: str, metric_id: str) -> bool:
    return any(metric.id == metric_id for metric in catalogue(bench).metrics)


def _with_margin(metric: Metric, policy: Policy | None) -> Metric:
    return policy.applied([metric])[0] if policy else metric


def _series(read: Read, group: Group, metric: Metric, rules: Rules, method: Method) -> Iterator[SeriesHistory]:
    estimates, table = read.estimates(group, [metric]), read.table_of(group)
    every = found_changes(read, estimates, [metric], rules, method)
    for (_, part), column in estimates.columns.items():
        found = [one for one in every if one.part == part]
        yield SeriesHistory(
            group=group,
            part=part,
            versions=_versions(estimates, column, found),
            levels=[float(one) for one in column.estimates if not np.isnan(one)],
            table="" if column.spread is None or table is None else table.words,
            changes=sorted(found, key=lambda one: one.at_ns),
        )


def _versions(estimates: Estimates, column: Column, found: Sequence[FoundChange]) -> list[VersionLine]:
    """A line per version, in the order of their first runs. Intervals of what is below 0 in no run don't reach below 0."""
    spread = spread_of(estimates, column, found)
    by_version = {
        version: there
        for version, places in estimates.versions.items()
        if (there := [place for place in places if not np.isnan(column.levels[place])])
    }
    return [
        VersionLine(
            version=version,
            ref=str(estimates.rows[places[0]]["ref"]),
            runs=len(places),
            at_ns=whole(estimates.rows[places[0]], "at_ns"),
            estimate=estimate,
            over=over,
            levels=[float(column.estimates[place]) for place in places],
        )
        for version, places in by_version.items()
        for estimate, over in [_interval(column, places, spread)]
    ]


def _interval(
    column: Column, places: Sequence[int], spread: Spread | None
) -> tuple[Interval, Literal["runs", "within", ""]]:
    means = column.mean_of(places)
    level = float(np.mean([one.level for one in means]))
    within = float(np.mean([one.within for one in means]))
    variance = max(spread.variance, within) if spread else within
    degrees = spread.degrees if spread else np.inf
    found = student(level, float(np.sqrt(variance / len(means))), degrees, CONFIDENCE).interval
    over: Literal["runs", "within", ""] = "runs" if spread else "within" if within else ""
    estimate, low, high = (from_scale(one, column.scale) for one in (found.estimate, found.low, found.high))
    return Interval(estimate, max(low, 0.0) if np.nanmin(column.estimates) >= 0 else low, high), over
