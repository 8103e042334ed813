"""Samples: the observations of one metric in one run, with the keys that compare pairs them by."""

import importlib
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

import duckdb
import msgspec
import numpy as np
import pyarrow as pa

from slotmark.errors import RunError, did_you_mean
from slotmark.metrics.catalogue import Metric
from slotmark.metrics.entries import KeyColumn

if TYPE_CHECKING:
    import pandas

_ROWS_AT_ONCE = 32_768
"""Rows per pass: the keys of this many stay in a processor's cache while they are compared."""

Key = tuple[int | str, ...]
"""The values of a metric's grain columns for one sample."""


class CostMatrix(msgspec.Struct, frozen=True):
    """The samples of a metric with two grain columns: what was repeated by what it was repeated on.

    Attributes:
        keys: Keys of the columns, rising; shape (n,). The second grain column.
        values: Shape (replicates, n), in the metric's unit.
    """

    keys: np.ndarray
    values: np.ndarray


class Keys:
    """The keys of a relation's rows. Codes, and the rows that have a value, are kept: many metrics of a relation have them in common.

    Attributes:
        table: One row per row of the relation, in its order: ``part``, as a dictionary where the bench has none, and the grain columns.
        order: The grain columns in the order that rows are to be sorted by.
        rising: Whether rows are in that order, and no key is missing or there twice. What holds for all rows holds for any of them.
    """

    def __init__(self, table: pa.Table, order: tuple[str, ...], *, rising: bool) -> None:
        self.table, self.order, self.rising = table, order, rising
        self._codes: dict[str, np.ndarray] = {}
        self._last: tuple[pa.ChunkedArray, Keys] | None = None

    @property
    def shown(self) -> list[str]:
        """The columns by which rows differ, in the order that rows are to be sorted by."""
        parted = not pa.types.is_dictionary(self.table["part"].type)
        return ["part", *self.order] if parted else list(self.order)

    def codes(self, column: str) -> np.ndarray:
        """The place of each row's value of a column among all that occur, from 0 on; shape (rows,), int64, read-only."""
        if column not in self._codes:
            found = dense_ranks(ranks(self.table[column]))
            found.flags.writeable = False
            self._codes[column] = found
        return self._codes[column]

    def where(self, there: pa.ChunkedArray) -> "Keys":
        """The keys of some rows: shape (rows,), bool. Those of the call before where it asked for the same."""
        if self._last is None or not self._last[0].equals(there):
            some = Keys(self.table.filter(there).combine_chunks(), self.order, rising=self.rising)
            self._last = there, some
        return self._last[1]


class Samples(msgspec.Struct, frozen=True, dict=True):
    """The samples of one metric in one run.

    Attributes:
        metric: The catalogue's entry.
        table: One row per sample: ``part`` (text), the metric's grain columns, ``value`` (double, in the metric's unit); sorted by
            part and :attr:`order`, no duplicate keys, no nulls, every value finite. ``part`` is empty in benches without parts;
            text may be a dictionary.
        run: The run's folder, for errors.
        order: The grain columns in the order that rows are sorted by, where that isn't the metric's: the member first where its
            relation was made member by member.
        beside: What stands beside a key of whole numbers, by its column: that column, every value once and rising, and others.
        unit: What the values of the metric's unit of chance are.
        member: The column of the catalogue's members; empty where it has none.
        known: The keys of all rows that were made. Of a table with some of them, as of one target's hosts, it tells nothing.
    """

    metric: Metric
    table: pa.Table
    run: str = ""
    order: tuple[str, ...] = ()
    beside: Mapping[str, pa.Table] = {}
    unit: KeyColumn = KeyColumn()
    member: str = ""
    known: Keys | None = None

    def __repr__(self) -> str:
        counts = ", ".join(f"{self.within(part).num_rows:,}{f' in {part!r}' if part else ''}" for part in self.parts)
        return f"<Samples of {self.metric.id}{f', {self.metric.unit}' if self.metric.unit else ''}: {counts or 'none'}>"

    @property
    def parts(self) -> list[str]:
        """The parts that occur, sorted."""
        return sorted(self._spans)

    def within(self, part: str) -> pa.Table:
        """The rows of one part, in key order: the grain columns and ``value``. Where there are no samples, none; RunError where only other parts have any."""
        if part not in self._spans and self._spans:
            there = ", ".join(repr(one) for one in self.parts)
            raise RunError(
                f"{self.run}: '{self.metric.id}' has no part {part!r}.{did_you_mean(part, self.parts)} It has: {there}."
            )
        first, count = self._spans.get(part, (0, 0))
        return self.table.slice(first, count).drop_columns(["part"])

    def keys(self, part: str) -> list[Key]:
        """The keys of one part's samples, in order."""
        rows = self.within(part)
        columns = [rows[column].to_pylist() for column in self.metric.grain]
        return list(zip(*columns, strict=True)) if columns else [()] * rows.num_rows

    def values(self, part: str) -> np.ndarray:
        """The values of one part, in key order; shape (n,), float64."""
        return self.within(part)["value"].to_numpy()

    def codes(self, part: str, column: str) -> np.ndarray:
        """The place of each of the part's samples' value of a grain column among all that occur, from 0 on; shape (n,), int64."""
        rows = self.within(part)
        if self.known is not None and rows.num_rows == self.known.table.num_rows:
            return self.known.codes(column)
        return dense_ranks(ranks(rows[column]))

    def chunks(self, part: str) -> Iterator[np.ndarray]:
        """The :meth:`values`, as :class:`slotmark.metrics.long_samples.LongSamples` has them."""
        yield self.values(part)

    def smallest(self, part: str) -> float:
        """The smallest value of one part."""
        return float(self.values(part).min())

    def any(self, part: str) -> bool:
        """Returns whether any value of one part isn't 0."""
        return bool(self.values(part).any())

    def matrix(self, part: str = "") -> CostMatrix:
        """The samples of one part of a metric with two grain columns; shape (0, 0) where there are none.

        Raises:
            RunError: Replicates have other keys than each other.
        """
        rows = self.within(part)
        replicate, key = self.metric.grain
        keys, values = rows[key].to_numpy(), rows["value"].to_numpy()
        if values.size == 0:
            return CostMatrix(keys, np.empty((0, 0)))
        replicates = int(self.codes(part, replicate).max()) + 1
        if values.size % replicates == 0:
            shape = replicates, values.size // replicates
            laid = keys.reshape(shape)
            if bool((laid == laid[0]).all()):
                return CostMatrix(laid[0], values.reshape(shape))
        raise RunError(
            f"{self.run}: '{self.metric.id}' isn't there for the same values of '{key}' in every '{replicate}'. "
            "The run's tables were changed by hand: make it again."
        )

    @property
    def rows(self) -> pa.Table:
        """The table as other programs read it: text as text, no ``part`` where it is empty everywhere, and what stands beside keys."""
        table = as_text(self.table)
        for key, others in self.beside.items():
            found = others.take(np.searchsorted(others[key].to_numpy(), table[key].to_numpy()))
            for place, name in enumerate(others.column_names[1:], table.column_names.index(key) + 1):
                table = table.add_column(place, name, found[name])
        return table.drop_columns(["part"]) if self.parts in ([], [""]) else table

    def relation(self) -> duckdb.DuckDBPyRelation:
        """The :attr:`rows` as a DuckDB relation."""
        return duckdb.from_arrow(self.rows)

    def pandas(self) -> "pandas.DataFrame":
        """The :attr:`rows` as a pandas frame, where pandas is installed."""
        return self.rows.to_pandas()

    def polars(self) -> Any:
        """The :attr:`rows` as a Polars frame, where Polars is installed."""
        return importlib.import_module("polars").from_arrow(self.rows)

    def of(self, part: str) -> dict[Key, float]:
        """The samples of one part: key to value, in key order."""
        return dict(zip(self.keys(part), self.values(part).tolist(), strict=True))

    @cached_property
    def _spans(self) -> dict[str, tuple[int, int]]:
        """The first row of each part, and the number of its rows: they are sorted by it."""
        parts = self.table["part"]
        if len(parts) > 0 and parts[0].as_py() == parts[-1].as_py():
            return {parts[0].as_py(): (0, len(parts))}
        found, first = {}, 0
        for one in parts.value_counts().to_pylist():  # in the order of rows
            found[one["values"]] = first, one["counts"]
            first += one["counts"]
        return found


def keys_of(grain: Sequence[str], table: pa.Table, *, first: str = "") -> Keys:
    """Keys from what a relation has of them.

    Args:
        grain: The metric's grain columns.
        table: ``part``, as a dictionary where the bench has none, and the grain columns, in any order of rows.
        first: The grain column by which samples are to be sorted first; empty for the grain's own first.
    """
    order = tuple(sorted(grain, key=lambda column: first in grain and column != first))
    keys = Keys(table.combine_chunks(), order, rising=False)
    if not any(column.null_count for column in keys.table.columns):
        falls, twins = neighbours([ranks(keys.table[key]) for key in keys.shown], table.num_rows)
        keys.rising = not falls and not twins
    return keys


def samples_of(metric: Metric, keys: Keys, values: pa.ChunkedArray, run: str) -> Samples:
    """The samples of a metric, checked and in order.

    Args:
        metric: The catalogue's entry.
        keys: Keys of the rows of the metric's relation.
        values: One per row, double; null where the row is no sample.
        run: The run's folder, for errors.

    Raises:
        RunError: Two samples have one key, a key is missing, or a value is no number.
    """
    order, shown = keys.order, keys.shown
    if values.null_count:
        there = values.is_valid()
        keys, values = keys.where(there), values.filter(there)
    table = keys.table.append_column("value", values.combine_chunks())
    if not keys.rising:
        table = _in_order(metric, table, shown, run)
    refuse_no_number(metric, table, shown, run)
    return Samples(metric, table, run, order, known=keys if keys.rising else None)


def _in_order(metric: Metric, table: pa.Table, shown: Sequence[str], run: str) -> pa.Table:
    """Samples sorted by their keys. Raises RunError where a key is missing or there twice."""
    refuse_missing_keys(metric, table, shown, run)
    codes = [ranks(table[key]) for key in shown]
    falls, twins = neighbours(codes, table.num_rows)
    if falls:
        sorting = np.lexsort(codes[::-1])
        table = table.take(sorting)
        _, twins = neighbours([one[sorting] for one in codes], table.num_rows)
    if twins:
        raise two_of_one_key(metric, shown, run)
    return table


def refuse_missing_keys(metric: Metric, table: pa.Table, shown: Sequence[str], run: str) -> None:
    """Raises RunError where a sample lacks a key; arguments as of :func:`samples_of`, ``shown`` has the keys."""
    if any(table[key].null_count for key in table.column_names):
        raise RunError(
            f"{run}: samples of '{metric.id}' lack one of their keys ({', '.join(shown)}). The run's tables were changed by hand."
        )


def refuse_no_number(metric: Metric, table: pa.Table, shown: Sequence[str], run: str) -> None:
    """Raises RunError where a value is no number, likewise."""
    wrong = np.flatnonzero(~np.isfinite(table["value"].to_numpy()))
    if wrong.size:
        row = table.slice(int(wrong[0]), 1).to_pylist()[0]
        where = ", ".join(f"{key} {row[key]}" for key in shown)
        raise RunError(
            f"{run}: '{metric.id}' is no number in {where}: something was divided by zero. The run's tables were changed by hand."
        )


def two_of_one_key(metric: Metric, shown: Sequence[str], run: str) -> RunError:
    """The error about two samples that have one key, likewise."""
    return RunError(
        f"{run}: two samples of '{metric.id}' have one key ({', '.join(shown)}). The run's tables were changed by hand."
    )


def as_text(table: pa.Table) -> pa.Table:
    """A table with its dictionaries decoded."""
    fields = [
        field.with_type(field.type.value_type) if pa.types.is_dictionary(field.type) else field
        for field in table.schema
    ]
    return table.cast(pa.schema(fields))


def ranks(column: pa.ChunkedArray) -> np.ndarray:
    """Numbers in the place of a column's values, in the same order: whole numbers as they are, text by its place in UTF-8 order."""
    values = column.combine_chunks()
    if pa.types.is_string(values.type) or pa.types.is_large_string(values.type):
        values = values.dictionary_encode()
    if not isinstance(values, pa.DictionaryArray):
        return values.to_numpy(zero_copy_only=False)
    codes, words = values.indices.to_numpy(zero_copy_only=False), values.dictionary.to_pylist()
    places = sorted(range(len(words)), key=words.__getitem__)
    if places == list(range(len(words))):
        return codes
    return np.argsort(places)[codes]


def dense_ranks(values: np.ndarray) -> np.ndarray:
    """The place of each value among the distinct ones, in rising order; shape (n,), int64."""
    if not values.size:
        return np.empty(0, np.int64)
    least, most = int(values.min()), int(values.max())
    if most - least > 4 * values.size:
        return np.unique(values, return_inverse=True)[1]
    above = values.astype(np.int64) - least
    there = np.zeros(most - least + 1, bool)
    there[above] = True
    return above if there.all() else (np.cumsum(there) - 1)[above]


def neighbours(codes: Sequence[np.ndarray], rows: int) -> tuple[bool, bool]:
    """Returns whether any row's keys come before those of the row above it, and whether any two neighbours have the same."""
    falls = twins = False
    for start in range(0, rows - 1, _ROWS_AT_ONCE):
        some = [one[start : start + _ROWS_AT_ONCE + 1] for one in codes]
        alike = np.ones(len(some[0]) - 1, dtype=bool)
        for one in some:
            falls = falls or bool((alike & (one[1:] < one[:-1])).any())
            alike &= one[1:] == one[:-1]
        twins = twins or bool(alike.any())
    return falls, twins
