"""Simulated runs of the same seeds: the mean of the differences seed by seed, with Student's interval."""

from typing import Any

import numpy as np

from slotmark.compare.estimators.interface import Entry, Estimate, Measured, Task, measured_of_means
from slotmark.compare.pairing import refuse_unmatched
from slotmark.compare.result import Basis, Comparison, Detail, Swept
from slotmark.compare.summary import summarise
from slotmark.errors import ComparisonError
from slotmark.metrics import Metric, Samples
from slotmark.numbers import percent
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


def method(comparison: Comparison) -> str:
    """Returns how simulations of the same seeds were compared, in words."""
    return (
        "Simulated, not measured: docs/simulator.md describes how the model was fitted, how far it is from published results, and what it leaves "
        "out. Each seed is one simulation of the whole run, and the same seed draws the same slot leaders and the same luck on every side. "
        "Metrics are defined as in the published reports: means over the analysed blocks, or over blocks and peers; an adoption centile "
        f"counts from the start of the block's slot. Standard errors and {percent(comparison.confidence)} intervals (Student's t) are over "
        "seeds: they cover the simulation's own noise, not how far the model is from a real cluster. Nothing else changes than what is "
        "set, and what is named as moved along: larger blocks take longer to transfer, but the stages of forging and adoption stay as "
        "the profile has them unless they are set too."
    )


def _measured(task: Task, metric: Metric, part: str, pair: tuple[Samples, Samples], place: int) -> Measured:
    """The candidate less the baseline; without an interval for a single seed."""
    refuse_unmatched(*pair, part, (task.sides[0].name, task.sides[place].name))
    ours, theirs = (one.values(part) for one in pair)
    shown = "" if metric.tested else "not tested"
    if ours.size < 2:
        return Measured(ratio=None, paired=True, shown=shown or "one seed doesn't show how much values vary")
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
