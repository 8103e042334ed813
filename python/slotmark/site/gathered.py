"""A store as its pages need it: all estimates by what a page is of, and what changed."""

import datetime
from collections.abc import Sequence

import msgspec
import numpy as np

from slotmark.cleaning import one_name
from slotmark.errors import RunError, StoreError
from slotmark.history.columns import Column, Estimates, Read, in_time
from slotmark.history.decisions import Decisions
from slotmark.history.differences import reach_of_pair, spread_of
from slotmark.history.finding import found_changes
from slotmark.history.results import FoundChange
from slotmark.history.series import Group
from slotmark.history.store import Progress, Store
from slotmark.metrics import Metric, catalogue
from slotmark.numbers import readable
from slotmark.site.names import of_metric, of_run
from slotmark.statistics.between_runs import Spread
from slotmark.statistics.change_points import Rules


class Series(msgspec.Struct, frozen=True):
    """A metric of the runs of one kind of machine.

    Attributes:
        estimates: The runs, in the order of time.
        column: Its levels.
        changes: What changed, in the order of time.
        reach: Half the width of the interval of a difference of two of its runs, on the scale of its levels; None where nothing tells what runs of one
            build differ by.
    """

    estimates: Estimates
    column: Column
    changes: list[FoundChange]
    reach: float | None

    def since(self, digest: str) -> int:
        """Returns how many runs there are from a run on."""
        places = [place for place, row in enumerate(self.estimates.rows) if row["run"] == digest]
        return int((self.there >= places[0]).sum()) if places else 0

    @property
    def there(self) -> np.ndarray:
        """The places of runs that have it."""
        return np.flatnonzero(~np.isnan(self.column.estimates))


class Page(msgspec.Struct, frozen=True):
    """A metric in one part, of one work of a target.

    Attributes:
        name: The name of its page.
        group: What its runs have in common, of the first kind of machine.
        work: The work in words.
        metric: The catalogue's entry.
        part: Which of its samples.
        series: One per kind of machine.
    """

    name: str
    group: Group
    work: str
    metric: Metric
    part: str
    series: list[Series]

    @property
    def unit(self) -> str:
        """The unit that its values are shown in."""
        return readable(self.metric.unit)[1]

    @property
    def scale(self) -> float:
        """The factor from the metric's own unit to :attr:`unit`."""
        return readable(self.metric.unit)[0]

    @property
    def of(self) -> str:
        """Target, part and work in words."""
        return ", ".join(filter(None, (self.group.target, self.part, self.work)))

    def lately(self, since_ns: int, runs: int) -> list[FoundChange]:
        """The changes that began since a time, or with one of the newest runs of their series; only those that matter and aren't accepted."""
        return [
            change
            for series in self.series
            for change in series.changes
            if change.matters and not change.accepted and (change.at_ns >= since_ns or series.since(change.run) <= runs)
        ]

    @property
    def changes(self) -> list[FoundChange]:
        """All changes, in the order of time."""
        return sorted((one for series in self.series for one in series.changes), key=lambda one: one.at_ns)

    @property
    def changed(self) -> FoundChange | None:
        """The newest change that is sure; where none is, the newest of all, and None without any."""
        return max(reversed(self.changes), key=lambda one: (one.state == "sure", one.at_ns), default=None)


class Versions(msgspec.Struct, frozen=True):
    """The versions of a target that did one work on one kind of machine.

    Attributes:
        work: The work in words.
        metrics: The catalogue of their bench.
        estimates: The runs, in the order of time.
        spreads: What runs of one build differ by, of each series.
    """

    work: str
    metrics: Sequence[Metric]
    estimates: Estimates
    spreads: dict[tuple[str, str], Spread | None]

    @property
    def of(self) -> str:
        """Target, work and machine in words."""
        group = self.estimates.group
        return ", ".join(filter(None, (group.target or group.bench, self.work, group.machine)))


class Gathered(msgspec.Struct, frozen=True):
    """All that the pages of a store are made of.

    Attributes:
        pages: Metrics, sorted by bench, target, work, the order of the catalogue, and part.
        versions: The versions of each work on each kind of machine, sorted alike.
        runs: Rows of the index by digest, in the order of time.
        pruned: The runs whose tables were removed, by digest.
        left_out: How many runs readers left out.
        newest_ns: When the newest run was measured, in ns since 1970; 0 where there is none.
    """

    pages: list[Page]
    versions: list[Versions]
    runs: dict[str, dict[str, object]]
    pruned: set[str]
    left_out: int
    newest_ns: int


def work_of(store: Store, group: Group, estimates: Estimates) -> str:
    """The work of some runs in words: the facts that their bench names, of the newest run whose folder is there; else the digest of all facts."""
    about = catalogue(group.bench).about
    for row in (estimates.rows[-1], estimates.rows[0]):
        try:
            (run,) = store.opened([str(row["run"])])
        except RunError:
            continue
        workload = run.manifest.workload
        facts = [_fact(name, str(workload[name])) for name in about if workload.get(name)]
        if facts:
            return f"{', '.join(facts)} ({group.workload[:6]})"
    return f"work {group.workload}"


def _fact(name: str, value: str) -> str:
    """A fact in words: ``52 hosts``, ``value-only``."""
    shown = one_name(value)
    return f"{shown} {name}" if shown.replace(",", "").isdigit() else shown


def gathered(store: Store, decisions: Decisions, progress: Progress) -> Gathered:
    """Reads a store.

    Args:
        store: The store.
        decisions: What readers decided.
        progress: Called with how many runs are done, of how many, and of what; may raise to stop.

    Raises:
        StoreError: The store is damaged.
        RunError: A bench of its runs is unknown.
    """
    read = Read(store, decisions)
    # The day of the runs, not of the reader: the same store gives the same site.
    newest_day = datetime.datetime.fromtimestamp(read.newest_ns // 10**9, datetime.UTC).date()
    found: dict[str, Page] = {}
    versions: list[Versions] = []
    runs: dict[str, dict[str, object]] = {}
    done, total = 0, sum(len(one) for one in read.groups.values())
    for group in sorted(read.groups):
        progress(done, total, " ".join(filter(None, (group.bench, group.target))))
        metrics = catalogue(group.bench).metrics
        estimates = read.estimates(group, metrics)
        tested = [one for one in metrics if one.tested]
        of_tested = msgspec.structs.replace(
            estimates,
            columns={key: one for key, one in estimates.columns.items() if key[0] in {metric.id for metric in tested}},
        )
        changes = found_changes(read, of_tested, tested, Rules(), "slotmark", newest_day)
        by_id = {metric.id: metric for metric in metrics}
        work = work_of(store, group, estimates)
        spreads: dict[tuple[str, str], Spread | None] = {}
        for (metric, part), column in estimates.columns.items():
            name = of_metric(group, metric, part)
            page = found.setdefault(name, Page(name, group, work, by_id[metric], part, []))
            own = sorted(
                (one for one in changes if (one.metric, one.part) == (metric, part)), key=lambda one: one.at_ns
            )
            spread = spreads[metric, part] = spread_of(estimates, column, own)
            page.series.append(Series(estimates, column, own, spread and reach_of_pair(spread)))
        versions.append(Versions(work, metrics, estimates, spreads))
        runs.update((str(row["run"]), row) for row in estimates.rows)
        done += len(estimates.rows)
    places = {
        metric.id: place
        for bench in {group.bench for group in read.groups}
        for place, metric in enumerate(catalogue(bench).metrics)
    }
    pages = sorted(
        found.values(),
        key=lambda one: (one.group.bench, one.group.target, one.group.workload, places[one.metric.id], one.part),
    )
    if len({of_run(digest) for digest in runs}) < len(runs):
        raise StoreError(
            f"{store.place}: two runs have digests that begin alike, as those of tables don't. Remove the one that was made up."
        )
    ordered = sorted(runs.items(), key=lambda one: in_time(one[1]))
    pruned = {*runs} - store.with_tables()
    return Gathered(pages, versions, dict(ordered), pruned, read.left_out, read.newest_ns)
