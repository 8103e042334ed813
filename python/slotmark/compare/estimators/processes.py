"""Resources of each process as a whole: the difference of the means over processes."""

import numpy as np

from slotmark.compare.estimators.interface import Entry, Estimate, Measured, Task, measured_of_means
from slotmark.compare.result import Comparison
from slotmark.compare.results.rows import Basis
from slotmark.compare.summary import summarise_runs
from slotmark.compare.traits import Traits, Unit, side_degrees
from slotmark.compare.verdict import Judgement
from slotmark.metrics import Metric
from slotmark.numbers import percent
from slotmark.statistics.mean_difference import Units, mean_difference
from slotmark.verdict import Verdict
from slotmark.warnings import ENOUGH_RUNS

TRAITS = Traits(units=(Unit(over="processes", of_runs=True, degrees=side_degrees),))


def estimate(task: Task) -> Estimate:
    """The difference of the means of every metric that all sides have, over their processes; runs may lack its table."""
    entries = []
    for metric in task.in_turn():
        if any(metric.relation not in one.run.manifest.tables for of_side in task.analyses for one in of_side):
            continue
        of_sides = [[analysis.samples(metric.id) for analysis in of_side] for of_side in task.analyses]
        if any(not one.table.num_rows for of_side in of_sides for one in of_side):
            continue
        values = [np.concatenate([one.values("") for one in of_side]) for of_side in of_sides]
        entries.append(
            Entry(
                metric=metric,
                quantity="mean",
                summaries=[summarise_runs(of_side, "") for of_side in of_sides],
                measured=[_measured(task, metric, values[0], theirs) for theirs in values[1:]],
            )
        )
    return Estimate(entries=entries)


def method(comparison: Comparison) -> str:
    """Returns how processes were compared, in words."""
    return (
        "The total use of a process is compared by means over processes:  "
        f"{percent(comparison.confidence)} intervals and p-values are Student's t (Welch's, with at least the pooled variance). Below "
        f"{ENOUGH_RUNS} processes on a side there is no verdict."
    )


def _measured(task: Task, metric: Metric, ours: np.ndarray, theirs: np.ndarray) -> Measured:
    """Returns the distance of the candidate's mean from the baseline's."""
    shown = "" if metric.tested else "not tested"
    fewest = min(ours.size, theirs.size)
    sides = [[Units(np.array([value]), np.ones(1), ordered=False) for value in values] for values in (ours, theirs)]
    found = mean_difference(sides[0], sides[1], confidence=task.how.confidence)
    if found is None or fewest < 2:
        settled = Judgement(
            Verdict.UNDECIDED, "one process on a side is too few for a verdict on the build; record at least 5"
        )
        return Measured(ratio=None, paired=False, shown=shown, settled=settled)
    delta, base = found.delta, float(ours.mean())
    basis = Basis("processes", (ours.size, theirs.size), (float(ours.size), float(theirs.size)))
    settled = (
        Judgement(Verdict.UNDECIDED, f"{fewest} processes on a side agree too often by chance; record at least 5")
        if fewest < ENOUGH_RUNS
        else None
    )
    if not (ours.any() or theirs.any()):
        settled = Judgement(Verdict.EQUIVALENT, "0 in every process of both")
    return measured_of_means(
        metric, base, delta, found.bounds, p=found.p, paired=False, shown=shown, settled=settled, basis=basis
    )
