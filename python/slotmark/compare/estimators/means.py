"""Arithmetic means of runs, as clusters are published: their difference, by runs or by stretches of one run. docs/method.md explains it."""

from collections.abc import Sequence

import numpy as np

from slotmark import warnings
from slotmark.compare.doubts import unmatched
from slotmark.compare.estimators.interface import Entry, Estimate, Measured, Task
from slotmark.compare.summary import summarise_runs
from slotmark.compare.verdict import Decision
from slotmark.metrics import Metric, Samples
from slotmark.statistics.interval import Interval
from slotmark.statistics.stretches import Stretches, mean_difference, stretches

REPETITIONS = 10_000

UNORDERED = frozenset({"host", "peer"})
"""Units that don't follow one another, so that neighbours have nothing in common."""


def estimate(task: Task) -> Estimate:
    """The difference of means of every metric. The samples of one metric at a time are in memory."""
    repetitions = task.how.draws(REPETITIONS, task.tests)
    entries: list[Entry] = []
    for metric in task.metrics:
        of_sides = [[analysis.samples(metric.id) for analysis in of_side] for of_side in task.analyses]
        for part in sorted({part for of_side in of_sides for one in of_side for part in one.parts}):
            present = [[one for one in of_side if part in one.parts] for of_side in of_sides]
            cut = [[_stretches(one, part) for one in of_side] for of_side in present]
            entries.append(
                Entry(
                    metric=metric,
                    part=part,
                    quantity="mean",
                    summaries=[summarise_runs(of_side, part) if of_side else None for of_side in present],
                    measured=[
                        _measured(task, metric, part, (cut[0], of_side), repetitions) if cut[0] and of_side else None
                        for of_side in cut[1:]
                    ],
                )
            )
    once = [[warnings.one_run_a_side()] if entries and not side.others else [] for side in task.sides]
    return Estimate(
        entries=entries,
        repetitions=repetitions,
        of_sides=[[*one, *other] for one, other in zip(once, unmatched(task.sides, entries), strict=True)],
    )


def _stretches(samples: Samples, part: str) -> Stretches:
    ordered = samples.metric.grain[0] not in UNORDERED
    codes = samples.codes(part, samples.metric.grain[0])
    order = np.argsort(codes, kind="stable")
    starts = np.searchsorted(codes[order], np.arange(int(codes.max()) + 1))
    return stretches(samples.values(part)[order], starts, ordered=ordered)


def _measured(
    task: Task, metric: Metric, part: str, pair: tuple[Sequence[Stretches], Sequence[Stretches]], repetitions: int
) -> Measured:
    """How far the candidate's mean lies from the baseline's."""
    shown = "" if metric.tested else "not tested"
    found = mean_difference(
        *pair, confidence=task.how.confidence, repetitions=repetitions, seed=task.how.stream(metric.id, part)
    )
    if found is None:
        settled = Decision("inconclusive", f"one {metric.grain[0]} tells nothing of chance")
        return Measured(ratio=None, paired=False, shown=shown, settled=settled)
    ours = pair[0]
    if min(map(len, pair)) > 1:
        base = float(np.mean([one.mean for one in ours]))
    else:
        base = float(sum(one.sums.sum() for one in ours) / sum(one.counts.sum() for one in ours))
    delta = found.delta
    if base <= 0:
        same = delta.low == delta.high == 0
        settled = (
            Decision("equivalent", f"all samples of both are {base:g}")
            if same
            else Decision("inconclusive", "the baseline's mean is 0 or below, so there is no share of it that matters")
        )
        return Measured(ratio=None, delta=delta, paired=False, shown=shown, settled=settled)
    return Measured(
        ratio=Interval(*(1 + value / base for value in (delta.estimate, delta.low, delta.high))),
        delta=delta,
        p=found.p,
        p_is_bound=found.p <= 1 / (repetitions + 1),
        paired=False,
        shown=shown,
        margin=max(metric.margin, metric.least / base),
    )
