"""Costs of several runs put together: what was repeated by what it was repeated on."""

from collections.abc import Sequence
from contextlib import ExitStack

import numpy as np

from slotmark.errors import ComparisonError
from slotmark.metrics.analysis import Analysis, parts_of, samples
from slotmark.metrics.samples import CostMatrix
from slotmark.run import Run


def cost_matrix(run: Run, metric_id: str) -> CostMatrix | None:
    """The samples of a metric in a run without parts, as :meth:`Samples.matrix` has them; None where the run has none of it."""
    found = samples(run, metric_id)
    return found.matrix() if found.parts else None


def costs_together(runs: Sequence[Run], metric_id: str) -> CostMatrix | None:
    """The replicates of several runs as one's, of a metric as :func:`cost_matrix` has it; None where a run has none of it.

    Raises:
        ComparisonError: The runs hold other blocks.
        RunError: As :meth:`Samples.matrix`.
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


def parts_of_runs(runs: Sequence[Run]) -> dict[str, np.ndarray]:
    """The parts of the blocks of some runs; see :func:`slotmark.metrics.parts_of`."""
    with ExitStack() as stack:
        return parts_of([stack.enter_context(Analysis(run)) for run in runs])
