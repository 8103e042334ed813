"""Simulated runs of the same seeds: the mean of the differences seed by seed, with Student's interval.

Where stages of a side follow from measured costs, the error of those is in the interval too.
"""

from collections.abc import Sequence

import numpy as np

from slotmark.compare.estimators.interface import Entry, Estimate, Measured, Task, measured_of_means
from slotmark.compare.matching.pairing import refuse_unmatched
from slotmark.compare.result import Comparison
from slotmark.compare.results.details import Detail, ErrorParts, Forecast, Simulated, Swept
from slotmark.compare.results.rows import Basis
from slotmark.compare.summary import summarise
from slotmark.compare.traits import Traits, Unit, pair_degrees
from slotmark.errors import ComparisonError
from slotmark.metrics import Metric
from slotmark.metrics.predicted import Records, Replayed, names_of, records_of
from slotmark.numbers import percent
from slotmark.statistics.student import satterthwaite, student
from slotmark.warnings import ENOUGH_RUNS

TRAITS = Traits(predicts=True, units=(Unit(over="seeds", of_runs=True, degrees=pair_degrees),))

_OF_REPLAYS = (
    "Stages whose work was replayed take as many times as long as the replays of one build took beside the other's. The same seeds were "
    "simulated at both ends of the factors' intervals, those of all factors together: half of the difference between them over t is the "
    "replays' standard error. It is in the intervals, in quadrature with that of the seeds, with Satterthwaite's degrees of freedom. "
)


def estimate(task: Task) -> Estimate:
    """The mean difference of every metric, paired by seed."""
    if any(len(of_side) > 1 for of_side in task.analyses):
        raise ComparisonError("Predictions have their seeds inside them: name one run per side, and raise --seeds.")
    entries = []
    records = [records_of(side.manifest) for side in task.sides]
    replayed = [one.replayed for one in records]
    errors: list[list[ErrorParts]] = [[] for _ in task.sides]
    for metric in task.in_turn():
        of_runs = [analysis.samples(metric.id) for (analysis,) in task.analyses]
        for part in sorted({part for one in of_runs for part in one.parts}):
            present = [one if part in one.parts else None for one in of_runs]
            baseline = present[0]
            measured: list[Measured | None] = []
            for place, candidate in enumerate(present[1:], start=1):
                if baseline is None or candidate is None:
                    measured.append(None)
                    continue
                refuse_unmatched(baseline, candidate, part, (task.sides[0].name, task.sides[place].name))
                ours, theirs = baseline.values(part), candidate.values(part)
                behind = [found for found in (replayed[0], replayed[place]) if found]
                parts = _errors(metric, theirs - ours, behind) if ours.size > 1 else None
                errors[place] += [parts] if parts else []
                measured.append(_measured(task, metric, ours, theirs, parts))
            entries.append(
                Entry(
                    metric=metric,
                    part=part,
                    quantity="mean",
                    summaries=[one and summarise(one.of(part), task.how.confidence) for one in present],
                    measured=measured,
                )
            )
    forecasts = [
        Forecast(side=side.name, replayed=found, errors=of_side)
        for side, found, of_side in list(zip(task.sides, replayed, errors, strict=True))[1:]
        if found
    ]
    return Estimate(entries=entries, details=[*_swept(records), _simulated(task, records), *forecasts])


def method(comparison: Comparison) -> str:
    """Returns how simulations of the same seeds were compared, in words."""
    replayed = any(isinstance(one, Forecast) for one in comparison.details)
    return (
        f"Simulated, not measured: {names_of(comparison.baseline.manifest.bench).method} Each seed is one simulation of the whole run, and the "
        f"same seed draws the same random events on every side. Standard errors and {percent(comparison.confidence)} intervals (Student's t) are "
        "over seeds: they cover the simulation's own noise, not the model's distance from what would be measured. "
        f"{_OF_REPLAYS if replayed else ''}Nothing else changes than what is set, and what is named as moved along."
    )


def _measured(task: Task, metric: Metric, ours: np.ndarray, theirs: np.ndarray, parts: ErrorParts | None) -> Measured:
    """The candidate less the baseline; without an interval for a single seed, which has no error."""
    shown = "" if metric.tested else "not tested"
    if parts is None:
        return Measured(ratio=None, paired=True, shown=shown or "one seed doesn't show how much values vary")
    differences = theirs - ours
    found = student(float(differences.mean()), parts.whole, parts.degrees, task.how.confidence)
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


def _errors(metric: Metric, differences: np.ndarray, behind: Sequence[Replayed]) -> ErrorParts:
    """The standard error of a mean difference: that of the seeds, and that of measured costs behind either side, in quadrature."""
    of_seeds, degrees = float(differences.std(ddof=1) / np.sqrt(differences.size)), differences.size - 1.0
    of_costs = [(one.errors.get(metric.name, 0.0) ** 2, one.degrees) for one in behind]
    if not any(variance for variance, _ in of_costs):
        return ErrorParts(metric.id, of_seeds, 0.0, of_seeds, degrees)
    parts = [(of_seeds**2, degrees), *of_costs]
    whole = sum(variance for variance, _ in parts)
    costs = float(np.sqrt(sum(variance for variance, _ in of_costs)))
    return ErrorParts(metric.id, of_seeds, costs, float(np.sqrt(whole)), satterthwaite(whole, parts))


def _swept(records: Sequence[Records]) -> list[Detail]:
    """The swept parameter, where all runs are steps of one sweep."""
    steps = [one.step for one in records if one.step]
    if len(steps) < len(records):
        return []
    first = steps[0]
    return [
        Swept(
            parameter=first.parameter,
            unit=first.unit,
            values=[step.value for step in steps],
            geometric=first.geometric,
            own=first.own,
        )
    ]


def _simulated(task: Task, records: Sequence[Records]) -> Simulated:
    """The records of the simulations: the baseline's, where sides have them in common."""
    names = names_of(task.sides[0].manifest.bench)
    settings = [one.moved for one in records if one.moved]
    moved = settings[0] if len(settings) == 1 else dict.fromkeys(one.partition("=")[0] for of in settings for one in of)
    return Simulated(
        seeds=records[0].seeds,
        analysed=[one.analysed for one in records],
        counted=names.analysed,
        moved=[one.moved for one in records],
        moved_note=names.moved_note.replace("{moved}", ", ".join(moved)) if moved else "",
        error=records[0].error,
    )
