"""Samples: the observations of one metric in one run, with the keys that compare pairs them by."""

import importlib
import re
from collections.abc import Sequence
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

import duckdb
import msgspec
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from slotmark.errors import RunError
from slotmark.metrics.catalogue import Metric, catalogue
from slotmark.metrics.filters import Filter, filter_table, filters_of_run
from slotmark.run import Run

if TYPE_CHECKING:
    import pandas

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

    @property
    def parts(self):
        return self.settings

    def matrix(self, part=""):
        from slotmark.metrics.matrix import CostMatrix

        replicate, key = self.metric.grain
        of = self.table[replicate].to_numpy()
        keys = self.table[key].to_numpy()
        values = self.table["value"].to_numpy()
        count = np.unique(of).size
        return CostMatrix(keys.reshape(count, -1)[0].copy(), values.reshape(count, -1).astype(np.float64))

    def within(self, setting: str) -> pa.Table:
        """The rows of one setting, in key order: the grain columns and ``value``."""
        return self.table.filter(pc.field("setting") == setting).drop_columns(["setting"])

    def keys(self, setting: str) -> list[Key]:
        """The keys of one setting's samples, in order."""
        rows = self.within(setting)
        columns = [rows[column].to_pylist() for column in self.metric.grain]
        return list(zip(*columns, strict=True)) if columns else [()] * rows.num_rows

    def values(self, setting: str) -> np.ndarray:
        """The values of one setting, in key order; shape (n,), float64."""
        return self.within(setting)["value"].to_numpy()

    def unit_starts(self, setting: str) -> np.ndarray:
        """The row at which each unit, a value of the first grain column, begins among the setting's; shape (units,), int64."""
        units = self.within(setting)[self.metric.grain[0]].combine_chunks().to_numpy(zero_copy_only=False)
        return np.flatnonzero(np.concatenate([[True], units[1:] != units[:-1]]))

    def relation(self) -> duckdb.DuckDBPyRelation:
        """The samples as a DuckDB relation."""
        return duckdb.from_arrow(self.table)

    def pandas(self) -> "pandas.DataFrame":
        """The samples as a pandas frame, where pandas is installed."""
        return self.table.to_pandas()

    def polars(self) -> Any:
        """The samples as a Polars frame, where Polars is installed."""
        return importlib.import_module("polars").from_arrow(self.table)

    def of(self, setting: str) -> dict[Key, float]:
        """The samples of one setting: key to value, in key order."""
        return dict(zip(self.keys(setting), self.values(setting).tolist(), strict=True))


class Analysis:
    """A run's tables and relations in a database in memory, from which samples are computed one metric at a time; a context manager.

    Args:
        run: The run.
        filters: What to analyse of it, for benches that have filters; None for what the run's own profile says.
        published: Whether to compute as the established tool does.
    """

    def __init__(self, run: Run, *, filters: Sequence[Filter] | None = None, published: bool = False) -> None:
        self.run = run
        self.catalogue = catalogue(run.manifest.bench)
        self.filters = filters_of_run(run) if filters is None else list(filters)
        self._published = published
        self._connection = duckdb.connect()
        self._made: set[str] = set()

    def __enter__(self) -> Self:
        """Makes the tables known; RunError where one is missing or damaged."""
        connection = self._connection
        for name in self.run.manifest.tables:
            files = self.run.table_files(name)
            if files[0].parent.name == name:
                listed = ", ".join("'" + str(file).replace("'", "''") + "'" for file in files)
                self._execute(f'CREATE VIEW "{name}" AS SELECT * FROM read_parquet([{listed}])', f"the table '{name}'")
            else:
                connection.register(name, self.run.table(name))
        if self.catalogue.relations:
            connection.register("filters", filter_table(self.filters))
            connection.register("method", pa.table({"published": pa.array([self._published])}))
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Gives the memory free."""
        self._connection.close()

    def facts(self):
        from slotmark.metrics.cluster.manifest import facts_of_analysis

        return facts_of_analysis(self)

    def doubts(self):
        from slotmark.metrics.doubts import doubts_of_analysis

        return doubts_of_analysis(self)

    def relation(self, name: str) -> pa.Table:
        """A relation of the catalogue as a table. RunError where the run's tables don't allow it."""
        self._make(name)
        return self._select(f'SELECT * FROM "{name}"', f"'{name}'")

    def query(self, sql: str) -> pa.Table:
        """What SQL over the run's tables and all relations of the catalogue gives."""
        for name in self.catalogue.relations:
            self._make(name)
        return self._select(sql, "a query")

    def settings(self, metric_id: str) -> list[str]:
        """The settings in which a metric may have samples, sorted: benches with relations have only one, without a name."""
        if self.catalogue.relations:
            return [""]
        sql = self._ready(metric_id)
        return self._select(f"SELECT DISTINCT setting FROM ({sql}\n) ORDER BY setting", f"'{metric_id}'")[0].to_pylist()

    def samples(self, metric_id: str) -> Samples:
        """The samples of a metric. Raises as :func:`samples`."""
        metric, sql = self.catalogue[metric_id], self._ready(metric_id)
        ordered = f"SELECT * FROM ({sql}\n) ORDER BY ALL"
        return _checked(self.run, metric, self._select(ordered, f"'{metric_id}'"))

    def _ready(self, metric_id: str) -> str:
        """A metric's SQL, when all relations that it reads are made."""
        sql = self.catalogue.sql(metric_id)
        for name in self.catalogue.relations:
            if re.search(rf"\b{name}\b", sql):
                self._make(name)
        return sql.rstrip().rstrip(";")

    def _make(self, name: str) -> None:
        """Computes a relation, and before it those that it reads, unless they are there."""
        if name in self._made:
            return
        self._made.add(name)
        sql = self.catalogue.relation_sql(name)
        for other in self.catalogue.relations[: self.catalogue.relations.index(name)]:
            if re.search(rf"\b{other}\b", sql):
                self._make(other)
        self._execute(f'CREATE TEMP TABLE "{name}" AS {sql}', f"'{name}'")

    def _execute(self, sql: str, what: str) -> None:
        try:
            self._connection.execute(sql)
        except duckdb.Error as error:
            raise self._failed(what, error) from error

    def _select(self, sql: str, what: str) -> pa.Table:
        try:
            return self._connection.sql(sql).to_arrow_table()
        except duckdb.Error as error:
            raise self._failed(what, error) from error

    def _failed(self, what: str, error: duckdb.Error) -> RunError:
        reason = str(error).splitlines()[0]
        return RunError(f"{self.run.path}: can't compute {what} ({reason}). Make the run again with this slotmark.")


def samples(run: Run, metric_id: str) -> Samples:
    """The samples of a metric in a run, computed by the metric's SQL over the run's tables.

    Raises:
        RunError: The run lacks a table that the SQL reads, or the SQL yields two samples with one key or a value that is no number.
    """
    with Analysis(run) as analysis:
        return analysis.samples(metric_id)


def _checked(run: Run, metric: Metric, table: pa.Table) -> Samples:
    keys = ["setting", *metric.grain]
    if table.column_names != [*keys, "value"]:
        raise RunError(
            f"metric '{metric.id}': its SQL yields {table.column_names}, its catalogue entry wants {[*keys, 'value']}."
        )
    if _has_twins(table, keys):
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
    return Samples(metric, table)


def _has_twins(table: pa.Table, keys: Sequence[str]) -> bool:
    """Whether two rows of a table that is sorted by its keys have the same."""
    if table.num_rows < 2:
        return False
    alike = np.ones(table.num_rows - 1, dtype=bool)
    for key in keys:
        column = table[key].combine_chunks()
        if pa.types.is_string(column.type) or pa.types.is_large_string(column.type):
            column = column.dictionary_encode()
        codes = (column.indices if isinstance(column, pa.DictionaryArray) else column).to_numpy(zero_copy_only=False)
        alike &= codes[1:] == codes[:-1]
    return bool(alike.any())
