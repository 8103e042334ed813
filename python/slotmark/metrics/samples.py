"""Samples: the observations of one metric in one run, with the keys that compare pairs them by."""

from collections.abc import Sequence

import duckdb
import msgspec
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from slotmark.errors import RunError
from slotmark.metrics.catalogue import Metric, catalogue
from slotmark.run import Run

Key = tuple[int | str, ...]
"""What a sample belongs to: the values of its metric's grain columns."""


class Samples(msgspec.Struct, frozen=True):
    """The samples of one metric in one run.

    Attributes:
        metric: The catalogue's entry.
        table: One row a sample: ``setting`` (text), the metric's grain columns, ``value`` (double, in the metric's unit);
            sorted by setting and grain, no duplicate keys, no nulls, every value finite.
    """

    metric: Metric
    table: pa.Table

    @property
    def settings(self) -> list[str]:
        """The settings that occur, sorted."""
        return sorted(self.table["setting"].unique().to_pylist())

    def within(self, setting: str) -> pa.Table:
        """The rows of one setting, in key order: the grain columns and ``value``."""
        rows = self.table.filter(pc.field("setting") == setting).drop_columns(["setting"])
        return rows.sort_by([(column, "ascending") for column in self.metric.grain]) if self.metric.grain else rows

    def keys(self, setting: str) -> list[Key]:
        """The keys of one setting's samples, in order."""
        rows = self.within(setting)
        columns = [rows[column].to_pylist() for column in self.metric.grain]
        return list(zip(*columns, strict=True)) if columns else [()] * rows.num_rows

    def values(self, setting: str) -> np.ndarray:
        """The values of one setting, in key order; shape (n,), float64."""
        return self.within(setting)["value"].to_numpy()

    def of(self, setting: str) -> dict[Key, float]:
        """The samples of one setting: key to value, in key order."""
        return dict(zip(self.keys(setting), self.values(setting).tolist(), strict=True))


def samples(run: Run, metric_id: str) -> Samples:
    """The samples of a metric in a run, computed by the metric's SQL over the run's tables.

    Raises:
        RunError: The run lacks a table that the SQL reads, or the SQL yields two samples with one key or a value that is no number.
    """
    return samples_of(run, [metric_id])[metric_id]


def samples_of(run: Run, metric_ids: Sequence[str]) -> dict[str, Samples]:
    """The samples of several metrics in a run, by metric id; reads the run's tables only once. Raises as :func:`samples`."""
    entries = catalogue(run.manifest.bench)
    metrics = [entries[metric_id] for metric_id in metric_ids]
    with duckdb.connect() as connection:
        for name in run.manifest.tables:
            connection.register(name, run.table(name))
        return {metric.id: _computed(run, metric, entries.sql(metric.id), connection) for metric in metrics}


def _computed(run: Run, metric: Metric, sql: str, connection: duckdb.DuckDBPyConnection) -> Samples:
    try:
        table = connection.sql(sql).to_arrow_table()
    except duckdb.Error as error:
        raise RunError(
            f"{run.path}: can't compute '{metric.id}' ({str(error).splitlines()[0]}). Make the run again with this slotmark."
        ) from error
    keys = ["setting", *metric.grain]
    if table.column_names != [*keys, "value"]:
        raise RunError(
            f"metric '{metric.id}': its SQL yields {table.column_names}, its catalogue entry wants {[*keys, 'value']}."
        )
    if table.group_by(keys).aggregate([]).num_rows != table.num_rows:
        raise RunError(
            f"{run.path}: two samples of '{metric.id}' have one key ({', '.join(keys)}). The run's tables were changed by hand."
        )
    wrong = np.flatnonzero(~np.isfinite(table["value"].to_numpy()))
    if wrong.size:
        row = table.slice(int(wrong[0]), 1).to_pylist()[0]
        where = ", ".join(f"{key} {row[key]}" for key in keys)
        raise RunError(
            f"{run.path}: '{metric.id}' is no number in {where}: something was divided by zero. The run's tables were changed by hand."
        )
    return Samples(metric, table.sort_by([(key, "ascending") for key in keys]))
