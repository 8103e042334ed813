"""The worst samples of a metric, with what took place where and when."""

from collections.abc import Sequence

import pyarrow as pa

from slotmark.compare.results.attribution import Span, WorstSample
from slotmark.metrics import Analysis, Split, Timelines

MOST = 3
"""The most samples that are shown."""


def worst_samples(timelines: Timelines, split: Split, analyses: Sequence[Analysis]) -> list[WorstSample]:
    """The worst samples of all runs of a side, those whose steps are in the logs, the worst first.

    Args:
        timelines: The metric, and the parts of it that are shown.
        split: The steps of that metric.
        analyses: Analyses of each run.
    """
    metric = analyses[0].catalogue[timelines.metric]
    sign = -1.0 if metric.better == "lower" else 1.0
    values = sorted(
        (sign * value, number, int(key), value)
        for number, analysis in enumerate(analyses)
        for recorded in [set(steps_of(split, analysis)["key"].to_pylist())]
        for whole in [analysis.samples(metric.id)]
        for part in whole.parts
        for (key,), value in whole.of(part).items()
        if key in recorded
    )
    found: list[WorstSample] = []
    for _, number, key, value in values:
        timeline = analyses[number].select(timelines.sql(metric.grain[0], key), f"how '{metric.id}' came about")
        spans = [Span(**row) for row in timeline.to_pylist()]
        if spans:
            done = {one.place: one.end for one in spans}
            spans.sort(key=lambda one: (done[one.place], one.place, one.begin))
            found.append(
                WorstSample(
                    metric=metric,
                    sample=timelines.sample,
                    place=timelines.place,
                    run=analyses[number].run.name,
                    key=key,
                    about=analyses[number].about(metric.grain[0], key),
                    value=value,
                    spans=spans,
                )
            )
        if len(found) == MOST:
            break
    return found


def steps_of(split: Split, analysis: Analysis) -> pa.Table:
    """The steps of a metric's samples, as :meth:`Split.sql` has them. RunError where the run's tables don't allow it."""
    (key,) = analysis.catalogue[split.metric].grain
    return analysis.select(split.sql(key), f"the steps of '{split.metric}'")
