"""The worst samples of a metric, with what took place where and when."""

from collections.abc import Sequence

import msgspec

from slotmark.metrics import Analysis, Metric, Split, Timelines

MOST = 3
"""The most samples that are shown."""


class Span(msgspec.Struct, frozen=True):
    """A stage at one place.

    Attributes:
        place: Where.
        stage: Which.
        begin: In the metric's unit, since the sample began.
        end: Likewise.
    """

    place: str
    stage: str
    begin: float
    end: float


class WorstSample(msgspec.Struct, frozen=True, kw_only=True):
    """One of the worst samples.

    Attributes:
        metric: The catalogue's entry.
        sample: What it is of, as ``block``.
        place: What a place is, as ``host``.
        run: The run that it is of.
        key: Key of the sample.
        about: What stands beside the key: names and values.
        value: Value of the sample, in the metric's unit.
        spans: Place by place, in the order in which places were done, and there in the order of time.
    """

    metric: Metric
    sample: str
    place: str
    run: str
    key: int
    about: list[tuple[str, str]]
    value: float
    spans: list[Span]


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
        for recorded in [set(analysis.steps(split)["key"].to_pylist())]
        for whole in [analysis.samples(metric.id)]
        for part in whole.parts
        for (key,), value in whole.of(part).items()
        if key in recorded
    )
    found: list[WorstSample] = []
    for _, number, key, value in values:
        spans = [Span(**row) for row in analyses[number].timeline(timelines, key).to_pylist()]
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
