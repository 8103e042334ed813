"""From a store to the history of a metric, and to the changes of all metrics."""

import datetime
import hashlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import Literal

import msgspec
import numpy as np
import pyarrow as pa

from slotmark.compare.policy import Policy
from slotmark.compare.prior import MOST_DEGREES
from slotmark.compare.spread_table import SpreadTable, shipped_table
from slotmark.errors import ArgumentError, StoreError, did_you_mean
from slotmark.history.decisions import Decisions
from slotmark.history.results import Changes, FoundChange, History, SeriesHistory, State, VersionLine
from slotmark.history.series import Group
from slotmark.history.store import Store
from slotmark.metrics import Metric, catalogue
from slotmark.statistics.between_runs import RunMean, Scale, Spread, combined, pooled
from slotmark.statistics.change_points import Change, Rules, changes
from slotmark.statistics.e_divisive import e_divisive
from slotmark.statistics.interval import Interval
from slotmark.statistics.mean_difference import difference_of_runs, from_scale
from slotmark.statistics.rank_tests import error_share
from slotmark.statistics.student import student

CONFIDENCE = 0.95

BESIDE = 3
"""Runs on each side of a change in which a fact must be the same to explain it."""

Method = Literal["slotmark", "e-divisive"]

Progress = Callable[[int, int, str], None]


class Estimates(msgspec.Struct, frozen=True):
    """The estimates of some runs that are alike, in the order of time.

    Attributes:
        group: What they have in common.
        rows: Their rows of the index, one dictionary each.
        known: Their places in the order in which they were added.
        columns: By metric and part: estimates, one per run, not a number where it lacks one.
    """

    group: Group
    rows: list[dict[str, object]]
    known: list[int]
    columns: dict[tuple[str, str], "Column"]


class Column(msgspec.Struct, frozen=True):
    """A series: the level of each run on its scale, the variance within, the level in the metric's unit, and what is known of what runs of one build differ by."""

    scale: Scale
    levels: np.ndarray
    variances: np.ndarray
    estimates: np.ndarray
    spread: Spread | None = None

    def mean_of(self, places: Sequence[int]) -> list[RunMean]:
        """The runs at some places that have it, by their means."""
        return [
            RunMean(float(self.levels[place]), float(self.variances[place]))
            for place in places
            if not np.isnan(self.levels[place])
        ]


class Read:
    """The estimates of a store's runs, without those that readers left out.

    Args:
        store: The store.
        decisions: What readers decided.
        table: How much runs of one build differ; None for the table that comes with slotmark for the runs' cluster, if there is one.
    """

    def __init__(self, store: Store, decisions: Decisions, table: SpreadTable | None = None) -> None:
        self.store = store
        self._given = table
        self._tables: dict[Group, SpreadTable | None] = {}
        self.decisions = decisions
        found = store.table()
        self._runs = found.drop_columns(["estimates"]).to_pylist()
        lists = found["estimates"].combine_chunks()
        lists = lists if isinstance(lists, pa.ListArray) else pa.concat_arrays(lists.chunks)
        flat = lists.flatten()
        self._of_run = np.repeat(np.arange(len(self._runs)), np.diff(lists.offsets.to_numpy()))
        self._flat = {name: flat.field(name) for name in ("level", "variance", "estimate")}
        self._words = {name: flat.field(name).dictionary_encode() for name in ("metric", "part", "unit", "scale")}
        kept = [not decisions.leaves_out(row) for row in self._runs]
        self.left_out = kept.count(False)
        self.groups: dict[Group, list[int]] = {}
        for number, row in enumerate(self._runs):
            if kept[number]:
                group = Group(*(str(row[name]) for name in ("bench", "target", "workload", "machine")))
                self.groups.setdefault(group, []).append(number)

    @cached_property
    def versions(self) -> set[str]:
        """All versions that there are."""
        return {str(row["version"]) for row in self._runs}

    def table_of(self, group: Group) -> SpreadTable | None:
        """The table of how much runs of a group differ: the one that was given, if it is of that bench, else the one that comes with slotmark."""
        if group not in self._tables:
            digests = [str(self._runs[number]["run"]) for number in self.groups[group]]
            ends = [run.manifest for run in self.store.opened([digests[0], digests[-1]])]
            given = (
                self._given if self._given and self._given.bench in (group.bench, catalogue(group.bench).like) else None
            )
            self._tables[group] = given or shipped_table(ends)
        return self._tables[group]

    def estimates(self, group: Group, metrics: Sequence[Metric]) -> Estimates:
        """The estimates of the runs of a group in some metrics.

        Raises:
            StoreError: The estimates of a run have another unit than the metric now.
        """
        numbers = sorted(self.groups[group], key=lambda one: _in_time(self._runs[one]))
        places = np.full(len(self._runs), -1)
        places[numbers] = np.arange(len(numbers))
        rows = [self._runs[one] for one in numbers]
        known = sorted(range(len(rows)), key=lambda one: (rows[one]["added_ns"], one))
        at = places[self._of_run]
        here = np.flatnonzero(at >= 0)
        names, parts = (self._words[name].dictionary.to_pylist() for name in ("metric", "part"))
        metric_codes = self._codes("metric")[here]
        part_codes = self._codes("part")[here]
        table = self.table_of(group)
        columns: dict[tuple[str, str], Column] = {}
        for metric in metrics:
            if metric.id not in names:
                continue
            of_metric = here[metric_codes == names.index(metric.id)]
            of_parts = part_codes[metric_codes == names.index(metric.id)]
            for code in np.unique(of_parts):
                chosen = of_metric[of_parts == code]
                self._refuse_units(metric, chosen)
                column = self._column(chosen, at[chosen], len(rows))
                known_before = table.of(metric, parts[code]) if table and column.scale == metric.run_scale else None
                columns[metric.id, parts[code]] = msgspec.structs.replace(
                    column, spread=known_before and _as_before(known_before)
                )
        ordered = sorted(columns, key=lambda key: ([one.id for one in metrics].index(key[0]), key[1]))
        return Estimates(group, rows, known, {key: columns[key] for key in ordered})

    def _codes(self, name: str) -> np.ndarray:
        return self._words[name].indices.to_numpy(zero_copy_only=False)

    def _numbers(self, name: str, chosen: np.ndarray) -> np.ndarray:
        return self._flat[name].to_numpy(zero_copy_only=False)[chosen]

    def _column(self, chosen: np.ndarray, at: np.ndarray, count: int) -> Column:
        scales = self._words["scale"].dictionary.to_pylist()
        logs = np.array([one == "log" for one in scales])[self._codes("scale")[chosen]]
        levels, variances, estimates = (self._numbers(name, chosen) for name in ("level", "variance", "estimate"))
        if not logs.all():  # a run's level has no logarithm: then none is taken
            variances = np.where(logs, variances * estimates**2, variances)
            levels = estimates
        found = []
        for values in (levels, variances, estimates):
            whole = np.full(count, np.nan)
            whole[at] = values
            found.append(whole)
        return Column("log" if logs.all() else "identity", *found)

    def _refuse_units(self, metric: Metric, chosen: np.ndarray) -> None:
        units = self._words["unit"].dictionary.to_pylist()
        codes = self._codes("unit")[chosen]
        for code in np.unique(codes):
            if units[code] != metric.unit:
                row = self._runs[int(self._of_run[chosen[codes == code][0]])]
                raise StoreError(
                    f"{self.store.place}: '{metric.id}' of run {row['run']} is in {units[code] or 'no unit'}, here in {metric.unit or 'none'}. Run `slotmark store recompute --store {self.store.place}`."
                )


def _as_before(spread: Spread) -> Spread:
    """A spread of other days, with no more degrees of freedom than comparisons give it."""
    return msgspec.structs.replace(spread, degrees=min(spread.degrees, MOST_DEGREES))


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
        StoreError: The store is damaged.
        RunError: A bench of its runs is unknown.
    """
    read = Read(store, decisions, table)
    _refuse_bench(read, bench)
    found: list[FoundChange] = []
    series = runs = 0
    groups = [group for group in sorted(read.groups) if bench in ("", group.bench)]
    total = sum(len(read.groups[group]) for group in groups)
    for group in groups:
        if progress:
            progress(runs, total, " ".join(filter(None, (group.bench, group.target))))
        metrics = [_with_margin(one, policy) for one in catalogue(group.bench).metrics if one.tested]
        estimates = read.estimates(group, metrics)
        found += _found(read, estimates, metrics, rules or Rules(), method)
        series += len(estimates.columns)
        runs += len(estimates.rows)
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


def _in_time(row: Mapping[str, object]) -> tuple[object, ...]:
    return row["at_ns"], row["added_ns"], row["place"], row["run"]


def _series(read: Read, group: Group, metric: Metric, rules: Rules, method: Method) -> Iterator[SeriesHistory]:
    estimates, table = read.estimates(group, [metric]), read.table_of(group)
    every = _found(read, estimates, [metric], rules, method)
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
    """A line per version, in the order of their first runs."""
    by_version: dict[str, list[int]] = {}
    for place, row in enumerate(estimates.rows):
        if not np.isnan(column.levels[place]):
            by_version.setdefault(str(row["version"]), []).append(place)
    starts = {one.run for one in found if one.state == "sure"}
    repeated = pooled([column.mean_of(places) for places in by_version.values()])
    between = (
        None
        if repeated or column.spread
        else pooled([column.mean_of(places) for places in _stretches(estimates, column, starts)])
    )
    spread = combined(repeated, column.spread) or between
    return [
        VersionLine(
            version=version,
            ref=str(estimates.rows[places[0]]["ref"]),
            runs=len(places),
            at_ns=_whole(estimates.rows[places[0]], "at_ns"),
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
    return Interval(*(from_scale(one, column.scale) for one in (found.estimate, found.low, found.high))), over


def _stretches(estimates: Estimates, column: Column, starts: set[str]) -> list[list[int]]:
    """The places of runs between changes, of those that have the series."""
    found: list[list[int]] = [[]]
    for place, row in enumerate(estimates.rows):
        if row["run"] in starts:
            found.append([])
        if not np.isnan(column.levels[place]):
            found[-1].append(place)
    return [one for one in found if one]


def _found(
    read: Read, estimates: Estimates, metrics: Sequence[Metric], rules: Rules, method: Method
) -> list[FoundChange]:
    """The changes of all series of a group, which share the error rate."""
    keys = list(estimates.columns)
    if not keys:
        return []
    by_id = {metric.id: metric for metric in metrics}
    columns = list(estimates.columns.values())
    every: list[tuple[Change, State]]
    if method == "e-divisive":
        every = [
            (change, "by E-divisive") for number, one in enumerate(columns) for change in _divided(number, one, rules)
        ]
    else:
        decides = [by_id[metric].rank == "decisive" for metric, _ in keys]
        weights = [error_share(len(keys), sum(decides), decides=one) for one in decides]
        levels = np.column_stack([one.levels for one in columns])
        variances = np.nan_to_num(np.column_stack([one.variances for one in columns]))
        spreads = [one.spread for one in columns]
        found = changes(levels, variances, rules, known=estimates.known, weights=weights, spreads=spreads)
        every = [(one, one.state) for one in found]
    starts: dict[int, list[int]] = {}
    for change, _ in every:
        starts.setdefault(change.series, []).append(change.first)
    return [
        _described(
            read,
            estimates,
            by_id[keys[change.series][0]],
            keys[change.series],
            change,
            state,
            sorted(starts[change.series]),
        )
        for change, state in every
    ]


def _divided(number: int, column: Column, rules: Rules) -> Iterator[Change]:
    there = np.flatnonzero(~np.isnan(column.levels))
    values = column.levels[there]
    points = e_divisive(values, rules.significance)
    ends = [0, *(one.place for one in points), values.size]
    for place, one in enumerate(points):
        before, after = values[ends[place] : one.place], values[one.place : ends[place + 2]]
        first = int(there[one.place])
        size = float(after.mean() - before.mean())
        yield Change(
            series=number, kind="step", state="sure", first=first, last=first, known=int(there[-1]), p=one.p, size=size
        )


def _described(
    read: Read,
    estimates: Estimates,
    metric: Metric,
    key: tuple[str, str],
    change: Change,
    state: State,
    starts: Sequence[int],
) -> FoundChange:
    column, rows = estimates.columns[key], estimates.rows
    previous = max((one for one in starts if one < change.first), default=0)
    following = min((one for one in starts if one > change.last), default=len(rows))
    ours = column.mean_of(range(previous, change.first))
    theirs = column.mean_of(range(change.last, following))
    spread = combined(pooled([ours, theirs]), column.spread)
    found = difference_of_runs(ours, theirs, spread or Spread(0.0, np.inf), confidence=CONFIDENCE, scale=column.scale)
    base = found.base if found.base is not None else 0.0
    ratio = (
        Interval(*(1 + one / base for one in (found.delta.estimate, found.delta.low, found.delta.high)))
        if base > 0
        else None
    )
    row = rows[change.first]
    beside = [place for place in range(change.first) if not np.isnan(column.levels[place])]
    least = max(metric.least, metric.margin * abs(base))
    identity = hashlib.sha256(repr((estimates.group, key, row["run"])).encode()).hexdigest()[:8]
    accepted = next((one for one in read.decisions.accepted if one.change == identity), None)
    holds = accepted is not None and accepted.holds(datetime.datetime.now(datetime.UTC).date(), read.versions)
    return FoundChange(
        id=identity,
        group=estimates.group,
        metric=key[0],
        part=key[1],
        kind=change.kind,
        state=state,
        run=str(row["run"]),
        name=str(row["name"]),
        version=str(row["version"]),
        version_before=str(rows[beside[-1]]["version"]) if beside else "",
        at_ns=_whole(row, "at_ns"),
        known_ns=_whole(rows[change.known], "added_ns"),
        runs=len(theirs),
        before=base,
        after=base + found.delta.estimate,
        ratio=ratio,
        delta=found.delta,
        better=(found.delta.estimate > 0) == (metric.better == "higher"),
        p=change.p,
        margin=metric.margin,
        matters=abs(found.delta.estimate) > least,
        explanations=_explanations(rows, change.first) if change.kind == "step" else [],
        accepted=accepted.reason if accepted and holds else "",
    )


def _explanations(rows: Sequence[Mapping[str, object]], first: int) -> list[str]:
    """Changes with a run beside its figures, in words; circumstances before what was built."""
    before, after = rows[max(0, first - BESIDE) : first], rows[first : first + BESIDE]
    facts = [[{one["name"]: one["value"] for one in _facts(row)} for row in side] for side in (before, after)]
    names = list(dict.fromkeys(name for side in facts for of_run in side for name in of_run))
    around = [
        f"{name} {ours[0]} -> {theirs[0]}"
        for name in names
        if (ours := [one.get(name, "not recorded") for one in facts[0]])
        and (theirs := [one.get(name, "not recorded") for one in facts[1]])
        and len({*ours}) == len({*theirs}) == 1
        and ours[0] != theirs[0]
    ]
    built = [
        f"{name} {rows[first - 1][name] or 'not named'} -> {rows[first][name] or 'not named'}"
        for name in ("version", "ref", "commit")
        if first and rows[first - 1][name] != rows[first][name]
    ]
    if around and not built:
        return [f"only this changed, not the build: {'; '.join(around)}"]
    return [*around, *built] or ["nothing else that is recorded changed"]


def _facts(row: Mapping[str, object]) -> list[dict[str, str]]:
    return row["facts"]  # pyright: ignore[reportReturnType] - a list by the index's schema


def _whole(row: Mapping[str, object], name: str) -> int:
    return row[name]  # pyright: ignore[reportReturnType] - an integer by the index's schema
