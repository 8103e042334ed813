"""A metric's samples as a matrix: what was repeated by what it was repeated on."""

from collections.abc import Sequence

import duckdb
import msgspec
import numpy as np

from slotmark.errors import ComparisonError, RunError
from slotmark.metrics.catalogue import catalogue
from slotmark.run import Run


class CostMatrix(msgspec.Struct, frozen=True):
    """The samples of a metric with two grain columns, as ``run`` and ``slot``.

    Attributes:
        keys: Of the columns, rising; shape (n,). The second grain column.
        values: Shape (replicates, n), in the metric's unit.
    """

    keys: np.ndarray
    values: np.ndarray


def cost_matrix(run: Run, metric_id: str) -> CostMatrix | None:
    """The samples of a metric in a run that has one setting; None where the run has none of it.

    Only the columns that the metric's SQL reads are loaded, so that 500,000 samples take a tenth of a second.

    Raises:
        RunError: The run lacks a table, or its replicates have other keys than each other.
    """
    entries = catalogue(run.manifest.bench)
    metric = entries[metric_id]
    replicate, key = metric.grain
    with duckdb.connect() as connection:
        for name in run.manifest.tables:
            connection.read_parquet([str(file) for file in run.table_files(name)]).create_view(name)
        try:
            columns = connection.sql(entries.sql(metric_id)).fetchnumpy()
        except duckdb.Error as error:
            raise RunError(
                f"{run.path}: can't compute '{metric_id}' ({str(error).splitlines()[0]}). Make the run again with this slotmark."
            ) from error
    of, keys, values = (np.ma.getdata(columns[name]) for name in (replicate, key, "value"))
    if values.size == 0:
        return None
    count = np.unique(of).size
    if values.size % count == 0:
        shape = count, values.size // count
        order = np.lexsort((keys, of)) if np.any(np.diff(of) < 0) else slice(None)
        laid = keys[order].reshape(shape)
        if bool((laid == laid[0]).all()) and bool((np.diff(laid[0]) > 0).all()):
            return CostMatrix(laid[0].copy(), values[order].reshape(shape).astype(np.float64))
    raise RunError(
        f"{run.path}: '{metric_id}' isn't there for the same values of '{key}' in every '{replicate}'. "
        "The run's tables were changed by hand: make it again."
    )


def costs_together(runs: Sequence[Run], metric_id: str) -> CostMatrix | None:
    """The replicates of several runs as one's, of a metric as :func:`cost_matrix` has it; None where a run has none of it.

    Raises:
        ComparisonError: The runs hold other blocks.
        RunError: As :func:`cost_matrix`.
    """
    found = [cost_matrix(run, metric_id) for run in runs]
    matrices = [matrix for matrix in found if matrix is not None]
    if len(matrices) < len(found):
        return None
    for run, matrix in zip(runs, matrices, strict=True):
        if not np.array_equal(matrix.keys, matrices[0].keys):
            raise ComparisonError(
                f"{runs[0].path} and {run.path} hold other blocks: only processes over the same blocks can be put together."
            )
    return CostMatrix(matrices[0].keys, np.concatenate([matrix.values for matrix in matrices]))
