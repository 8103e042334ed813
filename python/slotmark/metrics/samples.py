"""Samples: the observations of one metric in one run, with the keys that compare pairs them by."""

import importlib
from typing import TYPE_CHECKING, Any

import duckdb
import msgspec
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from slotmark.errors import RunError
from slotmark.metrics.catalogue import Metric

if TYPE_CHECKING:
    import pandas

Key = tuple[int | str, ...]
"""What a sample belongs to: the values of its metric's grain columns."""


class CostMatrix(msgspec.Struct, frozen=True):
    """The samples of a metric with two grain columns: what was repeated by what it was repeated on.

    Attributes:
        keys: Of the columns, rising; shape (n,). The second grain column.
        values: Shape (replicates, n), in the metric's unit.
    """

    keys: np.ndarray
    values: np.ndarray


class Samples(msgspec.Struct, frozen=True):
    """The samples of one metric in one run.

    Attributes:
        metric: The catalogue's entry.
        table: One row per sample: ``part`` (text), the metric's grain columns, ``value`` (double, in the metric's unit); sorted by
            part and grain, no duplicate keys, no nulls, every value finite. ``part`` is empty in benches without parts; text may
            be a dictionary.
        run: The run's folder, for errors.
    """

    metric: Metric
    table: pa.Table
    run: str = ""

    @property
    def parts(self) -> list[str]:
        """The parts that occur, sorted."""
        if self._whole:
            return [self.table["part"][0].as_py()]
        return sorted(self.table["part"].unique().to_pylist())

    def within(self, part: str) -> pa.Table:
        """The rows of one part, in key order: the grain columns and ``value``."""
        rows = self.table
        if not self._whole or rows["part"][0].as_py() != part:
            rows = rows.filter(pc.field("part").cast(pa.string()) == part)
        return rows.drop_columns(["part"])

    def keys(self, part: str) -> list[Key]:
        """The keys of one part's samples, in order."""
        rows = self.within(part)
        columns = [rows[column].to_pylist() for column in self.metric.grain]
        return list(zip(*columns, strict=True)) if columns else [()] * rows.num_rows

    def values(self, part: str) -> np.ndarray:
        """The values of one part, in key order; shape (n,), float64."""
        return self.within(part)["value"].to_numpy()

    def unit_starts(self, part: str) -> np.ndarray:
        """The row at which each unit, a value of the first grain column, begins among the part's; shape (units,), int64."""
        units = ranks(self.within(part)[self.metric.grain[0]])
        return np.flatnonzero(np.concatenate([np.ones(min(units.size, 1), bool), units[1:] != units[:-1]]))

    def codes(self, part: str, column: str) -> np.ndarray:
        """A number for the value of a grain column in each of the part's samples, the same for equal values; shape (n,), from 0 on."""
        return ranks(self.within(part)[column])

    def matrix(self, part: str = "") -> CostMatrix:
        """The samples of one part of a metric with two grain columns; shape (0, 0) where there are none.

        Raises:
            RunError: Replicates have other keys than each other.
        """
        rows, starts = self.within(part), self.unit_starts(part)
        replicate, key = self.metric.grain
        keys, values = rows[key].to_numpy(), rows["value"].to_numpy()
        if values.size == 0:
            return CostMatrix(keys, np.empty((0, 0)))
        if values.size % starts.size == 0:
            shape = starts.size, values.size // starts.size
            laid = keys.reshape(shape)
            if bool((laid == laid[0]).all()):
                return CostMatrix(laid[0], values.reshape(shape))
        raise RunError(
            f"{self.run}: '{self.metric.id}' isn't there for the same values of '{key}' in every '{replicate}'. "
            "The run's tables were changed by hand: make it again."
        )

    @property
    def rows(self) -> pa.Table:
        """The table as other programs read it: text as text, and no ``part`` where it is empty everywhere."""
        table = as_text(self.table)
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

    @property
    def _whole(self) -> bool:
        """Whether all samples are of one part: they are sorted by it."""
        parts = self.table["part"]
        return len(parts) > 0 and parts[0].as_py() == parts[-1].as_py()


def samples_of(metric: Metric, table: pa.Table, run: str) -> Samples:
    """Samples from what a metric's SQL gave, checked and in order.

    Args:
        metric: The catalogue's entry.
        table: ``part``, as a dictionary where the bench has none, the grain columns and ``value``, in any order of rows.
        run: The run's folder, for errors.

    Raises:
        RunError: Two samples have one key, a key is missing, or a value is no number.
    """
    table = table.combine_chunks()
    keys = ["part", *metric.grain]
    shown = [key for key in keys if key != "part" or not pa.types.is_dictionary(table["part"].type)]
    if any(table[key].null_count for key in keys):
        raise RunError(
            f"{run}: samples of '{metric.id}' lack one of their keys ({', '.join(shown)}). The run's tables were changed by hand."
        )
    codes = [ranks(table[key]) for key in shown]
    falls, twins = _neighbours(codes, table.num_rows)
    if falls:
        order = np.lexsort(codes[::-1])
        table = table.take(order)
        _, twins = _neighbours([one[order] for one in codes], table.num_rows)
    if twins:
        raise RunError(
            f"{run}: two samples of '{metric.id}' have one key ({', '.join(shown)}). The run's tables were changed by hand."
        )
    wrong = np.flatnonzero(~np.isfinite(table["value"].to_numpy()))
    if wrong.size:
        row = table.slice(int(wrong[0]), 1).to_pylist()[0]
        where = ", ".join(f"{key} {row[key]}" for key in shown)
        raise RunError(
            f"{run}: '{metric.id}' is no number in {where}: something was divided by zero. The run's tables were changed by hand."
        )
    return Samples(metric, table, run)


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


def _neighbours(codes: list[np.ndarray], rows: int) -> tuple[bool, bool]:
    """Whether any row's keys come before those of the row above it, and whether any two neighbours have the same."""
    alike, falls = np.ones(max(rows - 1, 0), dtype=bool), False
    for one in codes:
        falls = falls or bool((alike & (one[1:] < one[:-1])).any())
        alike &= one[1:] == one[:-1]
    return falls, bool(alike.any())
