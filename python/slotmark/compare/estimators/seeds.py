"""Simulated runs of the same seeds: the mean of the differences seed by seed, with Student's interval."""

from typing import Any

import numpy as np

from slotmark.compare.estimators.interface import Entry, Estimate, Measured, Task, measured_of_means
from slotmark.compare.pairing import refuse_unmatched
from slotmark.compare.result import Basis, Detail, Swept
from slotmark.compare.summary import summarise
from slotmark.errors import ComparisonError
from slotmark.metrics import Metric, Samples
from slotmark.statistics.student import student
from slotmark.warnings import ENOUGH_RUNS


def estimate(task: Task) -> Estimate:
    """The mean difference of every metric, paired by seed."""
    if any(len(of_side) > 1 for of_side in task.analyses):
        raise ComparisonError("Predictions have their seeds inside them: name one run per side, and raise --seeds.")
    entries = []
    for metric in task.in_turn():
        of_runs = [analysis.samples(metric.id) for (analysis,) in task.analyses]
        for part in sorted({part for one in of_runs for part in one.parts}):
            present = [one if part in one.parts else None for one in of_runs]
            entries.append(
                Entry(
                    metric=metric,
                    part=part,
                    quantity="mean",
                    summaries=[one and summarise(one.of(part), task.how.confidence) for one in present],
                    measured=[
                        _measured(task, metric, part, (present[0], one), place) if present[0] and one else None
                        for place, one in enumerate(present[1:], start=1)
                    ],
                )
            )
    return Estimate(entries=entries, details=_swept(task))


def _measured(task: Task, metric: Metric, part: str, pair: tuple[Samples, Samples], place: int) -> Measured:
    """The candidate less the baseline; without an interval for a single seed."""
    refuse_unmatched(*pair, part, (task.sides[0].name, task.sides[place].name))
    ours, theirs = (one.values(part) for one in pair)
    shown = "" if metric.tested else "not tested"
    if ours.size < 2:
        return Measured(ratio=None, paired=True, shown=shown or "one seed tells nothing of chance")
    differences = theirs - ours
    middle, error = float(differences.mean()), float(differences.std(ddof=1) / np.sqrt(differences.size))
    found = student(middle, error, differences.size - 1, task.how.confidence)
    delta = found.interval
    base = float(ours.mean())
    if base <= 0:
        return Measured(ratio=None, delta=delta, paired=True, shown=shown or "the baseline's mean is 0 or below")
    return measured_of_means(
        metric,
        base,
        delta,
        found.bounds,
        p=found.p,
        paired=True,
        shown=shown,
        conditional=differences.size < ENOUGH_RUNS,
        basis=Basis("seeds", (ours.size, theirs.size), (ours.size, theirs.size)),
    )


def _swept(task: Task) -> list[Detail]:
    """The swept parameter, where all runs are steps of one sweep."""
    steps: list[dict[str, Any]] = [side.manifest.parameters.get("sweep") or {} for side in task.sides]
    if not all(steps):
        return []
    first = steps[0]
    return [
        Swept(
            parameter=first["parameter"],
            unit=first["unit"],
            values=[float(step["value"]) for step in steps],
            geometric=first["geometric"],
        )
    ]
