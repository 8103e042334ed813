"""Estimates of a store's runs, put together by series."""

from collections.abc import Mapping, Sequence
from functools import cached_property

import msgspec
import numpy as np
import pyarrow as pa

from slotmark.compare.run_to_run.prior import MOST_DEGREES
from slotmark.compare.run_to_run.spread_table import MAKE_TABLE, SpreadTable, shipped_table, unlike
from slotmark.errors import ComparisonError, RunError, StoreError
from slotmark.history.decisions import Decisions
from slotmark.history.series import Group
from slotmark.history.store import Store
from slotmark.metrics import Metric, catalogue
from slotmark.run import Manifest
from slotmark.statistics.between_runs import RunMean, Scale, Spread
from slotmark.statistics.change_points import FIRST
from slotmark.statistics.few_points import few_points

_Z95 = 1.959964
"""Standard deviations of a normal distribution that 95 % of it lie within."""


class Column(msgspec.Struct, frozen=True):
    """A series: the level of each run on its scale, the variance within, the level in the metric's unit, and what is known of what runs of one build differ by."""

    scale: Scale
    levels: np.ndarray
    variances: np.ndarray
    estimates: np.ndarray
    spread: Spread | None = None

    @property
    def reach_within(self) -> np.ndarray:
        """Half the width of the 95 % interval of each level, of what varies within its run, on the scale; shape (runs,)."""
        return _Z95 * np.sqrt(self.variances)

    @property
    def searched(self) -> bool:
        """True if changes are looked for: it has so many runs, or it is known what runs of one build differ by."""
        return self.spread is not None or len(self.levels) - int(np.isnan(self.levels).sum()) > FIRST

    @property
    def course(self) -> list[float]:
        """The estimates that there are in few points, in the metric's unit."""
        return few_points(self.estimates[~np.isnan(self.estimates)].tolist())

    def mean_of(self, places: Sequence[int]) -> list[RunMean]:
        """The runs at some places that have it, by their means."""
        return [
            RunMean(float(self.levels[place]), float(self.variances[place]))
            for place in places
            if not np.isnan(self.levels[place])
        ]


class Estimates(msgspec.Struct, frozen=True, dict=True):
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

    @cached_property
    def versions(self) -> dict[str, list[int]]:
        """The places of the runs of each version, in the order of their first runs."""
        found: dict[str, list[int]] = {}
        for place, row in enumerate(self.rows):
            found.setdefault(str(row["version"]), []).append(place)
        return found

    @cached_property
    def version_numbers(self) -> np.ndarray:
        """The number of each run's version in that order; shape (runs,)."""
        numbers = np.zeros(len(self.rows), np.int64)
        for number, places in enumerate(self.versions.values()):
            numbers[places] = number
        return numbers


class Read:
    """The estimates of a store's runs, without those that readers left out.

    Args:
        store: The store.
        decisions: What readers decided.
        table: How much runs of one build differ, for those of its work and machine; for others, and with None, the table that comes with slotmark for the runs' cluster counts, if there is one.
    """

    def __init__(self, store: Store, decisions: Decisions, table: SpreadTable | None = None) -> None:
        self.store = store
        self._given = table
        self._tables: dict[Group, SpreadTable | None] = {}
        self._unlike: dict[Group, str] = {}
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
        self.newest_ns = max((whole(row, "at_ns") for row, one in zip(self._runs, kept, strict=True) if one), default=0)
        self.groups: dict[Group, list[int]] = {}
        for number, row in enumerate(self._runs):
            if kept[number]:
                group = Group(*(str(row[name]) for name in ("bench", "target", "workload", "machine")))
                self.groups.setdefault(group, []).append(number)

    def table_of(self, group: Group) -> SpreadTable | None:
        """The table of how much runs of a group differ: the one that was given, if it is of their work and machine, else the one that comes with slotmark."""
        if group not in self._tables:
            ends, given = self._ends(group), self._given
            if given:
                # Without a manifest only the bench tells.
                like = given.bench in (group.bench, catalogue(group.bench).like)
                why = next(
                    filter(None, (unlike(given, one) for one in ends)),
                    "" if like else f"a table of bench '{given.bench}'",
                )
                self._unlike[group] = why
            used = self._unlike.get(group) == ""
            self._tables[group] = given if used else shipped_table(ends) if ends else None
        return self._tables[group]

    def refuse_unused_table(self) -> None:
        """Raises ComparisonError where the table that was given is of none of the groups that were asked for."""
        if self._unlike and all(self._unlike.values()):
            why = next(iter(self._unlike.values()))
            raise ComparisonError(
                f"{self.store.place}: no series is of the table's work and machine ({why}). {MAKE_TABLE}"
            )

    def _ends(self, group: Group) -> list[Manifest]:
        """The manifests of the first and the last run of a group that are still in the store; none where none is."""
        digests = [str(self._runs[number]["run"]) for number in self.groups[group]]
        try:
            return self._manifests(digests)
        except RunError:  # tables of old runs may have been removed
            return self._manifests([digest for digest in digests if digest in self._there])

    def _manifests(self, digests: Sequence[str]) -> list[Manifest]:
        """The manifests of the first and the last of these runs. RunError where either isn't there."""
        return [run.manifest for run in self.store.opened(list(dict.fromkeys([*digests[:1], *digests[-1:]])))]

    @cached_property
    def _there(self) -> set[str]:
        return self.store.with_tables()

    def estimates(self, group: Group, metrics: Sequence[Metric]) -> Estimates:
        """The estimates of the runs of a group in some metrics.

        Raises:
            StoreError: The estimates of a run have another unit than the metric now.
        """
        numbers = sorted(self.groups[group], key=lambda one: in_time(self._runs[one]))
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


def in_time(row: Mapping[str, object]) -> tuple[int, int, int, str]:
    """The key by which runs are in the order of time: their rows of the index."""
    return whole(row, "at_ns"), whole(row, "added_ns"), whole(row, "place"), str(row["run"])


def whole(row: Mapping[str, object], name: str) -> int:
    """A whole number of a row of the index."""
    return row[name]  # pyright: ignore[reportReturnType] - an integer by the index's schema
