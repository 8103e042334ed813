"""Samples: the observations of one metric in one run, with the keys that compare pairs them by."""

import duckdb
import msgspec
import numpy as np
import pyarrow as pa

from slotmark.errors import RunError
from slotmark.metrics.catalogue import Metric, catalogue
from slotmark.run import Run


class Samples(msgspec.Struct, frozen=True):
    """The samples of one metric in one run.

    Attributes:
        metric: The catalogue's entry.
        table: One row a sample: ``setting`` (text), the metric's grain columns, ``value`` (double, in the metric's unit);
            sorted by setting and grain, no duplicate keys, no nulls.
    """

    metric: Metric
    table: pa.Table

    @property
    def settings(self) -> list[str]:
        """The settings that occur, in the order in which they first occur in the run."""
        return list(dict.fromkeys(self.table["setting"].to_pylist()))

    def of(self, setting: str) -> dict[tuple[int | str, ...], float]:
        """The samples of one setting: key to value, in key order."""
        return {
            tuple(row[column] for column in self.metric.grain): row["value"]
            for row in self.table.to_pylist()
            if row["setting"] == setting
        }

    def values(self, setting: str) -> np.ndarray:
        """The values of one setting, in key order; shape (n,), float64."""
        return np.array(list(self.of(setting).values()), dtype=np.float64)


def samples(run: Run, metric_id: str) -> Samples:
    """The samples of a metric in a run, computed by the metric's SQL over the run's tables.

    Raises:
        RunError: The run lacks a table that the SQL reads, or the SQL yields two samples with one key.
    """
    entries = catalogue(run.manifest.bench)
    metric = entries[metric_id]
    with duckdb.connect() as connection:
        for name in run.manifest.tables:
            connection.register(name, run.table(name))
        try:
            table = connection.sql(entries.sql(metric_id)).to_arrow_table()
        except duckdb.Error as error:
            raise RunError(
                f"{run.path}: can't compute '{metric_id}' ({str(error).splitlines()[0]}). Make the run again with this slotmark."
            ) from error
    keys = ["setting", *metric.grain]
    if table.column_names != [*keys, "value"]:
        raise RunError(
            f"metric '{metric_id}': its SQL yields {table.column_names}, its catalogue entry wants {[*keys, 'value']}."
        )
    if table.group_by(keys).aggregate([]).num_rows != table.num_rows:
        raise RunError(
            f"{run.path}: two samples of '{metric_id}' have one key ({', '.join(keys)}). The run's tables were changed by hand."
        )
    return Samples(metric, table)
