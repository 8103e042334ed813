"""Several analyses together: the parts and replicates that their runs have in common."""

from collections.abc import Sequence
from contextlib import ExitStack

import numpy as np

from slotmark.errors import ComparisonError
from slotmark.metrics.analysis import Analysis
from slotmark.metrics.filters import Filter
from slotmark.metrics.samples import CostMatrix
from slotmark.run import Run

LEAST_OF_PART = 10
"""A part with fewer keys than these, or with all but fewer, is not compared by itself."""


def analyses_of(
    stack: ExitStack, groups: Sequence[Sequence[Run]], filters: Sequence[Filter] | None
) -> list[list[Analysis]]:
    """An analysis per run, which end with the stack."""
    return [[stack.enter_context(Analysis(run, filters=filters)) for run in group] for group in groups]


def parts_of(analyses: Sequence[Analysis], least: int = LEAST_OF_PART) -> dict[str, np.ndarray]:
    """The parts of the keys that some runs have in common, by name in words; each shape (keys,), bool, in the order of keys.

    A key meets a part's condition where any row of it does, in any run. A part is left out where its condition isn't known for
    every row, or where it holds nearly no key or nearly all.

    Args:
        analyses: Analyses of at least one run, all over the same keys.
        least: A part with fewer keys, or with all but fewer, is left out.

    Raises:
        ComparisonError: The runs hold other keys.
    """
    found = [analysis.parts() for analysis in analyses]
    _refuse_other_keys(analyses, [one.keys for one in found])
    parts: dict[str, np.ndarray] = {}
    for part in analyses[0].catalogue.parts:
        meets = [one.meets[part.name] for one in found]
        recorded = [one for one in meets if one is not None]
        if len(recorded) == len(meets):
            met = np.logical_or.reduce(recorded)
            parts[part.name] = met if part.of == "any" else ~met
    return {name: of for name, of in parts.items() if least <= int(of.sum()) <= of.size - least}


def costs_together(analyses: Sequence[Analysis], metric_id: str) -> CostMatrix | None:
    """The replicates of several runs as one's; None where a run has none of the metric.

    Raises:
        ComparisonError: The runs hold other blocks.
        RunError: A run's replicates have other keys than each other.
    """
    samples = [analysis.samples(metric_id) for analysis in analyses]
    if any(not one.table.num_rows for one in samples):
        return None
    matrices = [one.matrix() for one in samples]
    _refuse_other_keys(analyses, [matrix.keys for matrix in matrices])
    if len(matrices) == 1:
        return matrices[0]
    return CostMatrix(matrices[0].keys, np.concatenate([matrix.values for matrix in matrices]))


def _refuse_other_keys(analyses: Sequence[Analysis], keys: Sequence[np.ndarray]) -> None:
    for analysis, own in zip(analyses, keys, strict=True):
        if not np.array_equal(own, keys[0]):
            raise ComparisonError(
                f"{analyses[0].run.place} and {analysis.run.place} hold other blocks: only processes over the same blocks can be put together."
            )
