"""Changes of the series of some runs, described: by how much, how sure, with what else changed."""

import datetime
import hashlib
from collections.abc import Iterator, Mapping, Sequence
from typing import Literal

import numpy as np

from slotmark.history.columns import Column, Estimates, Read, whole
from slotmark.history.results import FoundChange, State
from slotmark.metrics import Metric
from slotmark.statistics.between_runs import Spread, combined, pooled
from slotmark.statistics.change_points import Change, Rules, changes
from slotmark.statistics.e_divisive import e_divisive
from slotmark.statistics.mean_difference import difference_of_runs
from slotmark.statistics.rank_tests import error_share

CONFIDENCE = 0.95

BESIDE = 3
"""Runs on each side of a change in which a fact must be the same to explain it."""

Method = Literal["slotmark", "e-divisive"]


def found_changes(
    read: Read,
    estimates: Estimates,
    metrics: Sequence[Metric],
    rules: Rules,
    method: Method,
    today: datetime.date | None = None,
) -> list[FoundChange]:
    """The changes of all series of a group, which share the error rate. Today, or on another day, decides which accepted ones are open again."""
    today = today or datetime.datetime.now(datetime.UTC).date()
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
    of_series: dict[int, list[Change]] = {}
    for change, _ in every:
        of_series.setdefault(change.series, []).append(change)
    return [
        _described(
            read,
            estimates,
            by_id[keys[change.series][0]],
            keys[change.series],
            change,
            state,
            of_series[change.series],
            today,
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
    of_series: Sequence[Change],
    today: datetime.date,
) -> FoundChange:
    column, rows = estimates.columns[key], estimates.rows
    # Runs of a drift, before its last step, are of no level.
    previous = max((one.last for one in of_series if one.first < change.first), default=0)
    following = min((one.first for one in of_series if one.first > change.last), default=len(rows))
    ours = column.mean_of(range(previous, change.first))
    theirs = column.mean_of(range(change.last, following))
    spread = combined(pooled([ours, theirs]), column.spread)
    found = difference_of_runs(ours, theirs, spread or Spread(0.0, np.inf), confidence=CONFIDENCE, scale=column.scale)
    base = found.base if found.base is not None else 0.0
    ratio = found.delta.from_base(base) if base > 0 else None
    row = rows[change.first]
    beside = [place for place in range(change.first) if not np.isnan(column.levels[place])]
    least = max(metric.least, metric.margin * abs(base))
    identity = hashlib.sha256(repr((estimates.group, key, row["run"])).encode()).hexdigest()[:8]
    accepted = next((one for one in read.decisions.accepted if one.change == identity), None)
    holds = accepted is not None and accepted.holds(today, estimates.versions)
    return FoundChange(
        id=identity,
        group=estimates.group,
        metric=key[0],
        part=key[1],
        kind=change.kind,
        state=state,
        run=str(row["run"]),
        reached=str(rows[change.last]["run"]),
        name=str(row["name"]),
        version=str(row["version"]),
        version_before=str(rows[beside[-1]]["version"]) if beside else "",
        at_ns=whole(row, "at_ns"),
        known_ns=whole(rows[change.known], "added_ns"),
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
