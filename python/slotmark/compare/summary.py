"""Samples of one metric, on one side and in one part, in short."""

from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from slotmark.compare.results.rows import Summary
from slotmark.metrics import AllSamples, Key, LongSamples, Samples, ranks
from slotmark.statistics.in_chunks import Chunks, moments, values_at
from slotmark.statistics.location import (
    CENTILES,
    at_centiles,
    counted,
    left_out,
    median_interval,
    outlying,
    partly_ordered,
    places_of_centiles,
    trimmed_mean,
)

KEPT_SAMPLES = 1_000
"""Up to this many samples are kept one by one."""

MOST_STEPS = 40
"""The number of distinct values up to which a distribution is drawn as steps."""

_FIRST_LOOK = 10_000
"""Values, evenly apart, that are examined first: they mostly show whether there are many distinct ones."""

_COURSE_POINTS = 120


def summarise(samples: Mapping[Key, float], confidence: float = 0.95, *, timeline: bool = False) -> Summary:
    """The summary of at least one sample.

    Args:
        samples: Key to value, in key order.
        confidence: Confidence of the median's interval, as a fraction.
        timeline: Whether the metric is drawn over its last key column.
    """
    values = np.fromiter(samples.values(), dtype=np.float64, count=len(samples))
    return Summary(
        n=values.size,
        median=float(np.median(values)),
        median_interval=median_interval(values, confidence),
        mean=float(values.mean()),
        trimmed_mean=trimmed_mean(values),
        sd=float(values.std(ddof=1)) if values.size > 1 else 0.0,
        minimum=float(values.min()),
        maximum=float(values.max()),
        outliers=[key for key, far in zip(samples, outlying(values), strict=True) if far],
        samples=list(samples.items()) if values.size <= KEPT_SAMPLES else [],
        course=_medians(samples) if timeline else [],
    )


def summarise_costs(costs: np.ndarray) -> Summary:
    """The summary of repeated costs of the same blocks: of each block's mean over processes.

    Args:
        costs: Shape (processes, blocks), at least one of each.
    """
    values = costs.mean(axis=0)
    return Summary(
        n=values.size,
        runs=len(costs),
        median=float(np.median(values)),
        median_interval=None,
        mean=float(values.mean()),
        trimmed_mean=trimmed_mean(values),
        sd=float(values.std(ddof=1)) if values.size > 1 else 0.0,
        minimum=float(values.min()),
        maximum=float(values.max()),
        outliers=[],
        samples=[],
    )


def summarise_runs(runs: Sequence[AllSamples], part: str, *, drawn: bool = True) -> Summary:
    """The summary of many samples of one or more runs, of a metric whose mean is compared.

    The mean of several runs is that of all their samples. No sample is kept by itself, and the median has no interval: samples
    of one run aren't independent.

    Args:
        runs: The samples of at least one run.
        part: Which of them.
        drawn: Whether the summary is drawn too, where the metric is: its centiles, steps, band and course are there only then.
    """
    metric = runs[0].metric
    if any(isinstance(one, LongSamples) for one in runs):
        return _summarised_in_chunks(runs, part, drawn=drawn)
    runs = [one for one in runs if isinstance(one, Samples)]
    each = [one.values(part) for one in runs]
    spread = drawn and metric.chart == "cdf"
    values = partly_ordered(each[0] if len(each) == 1 else np.concatenate(each), centiles=spread)
    return Summary(
        n=values.size,
        runs=len(runs),
        median=float((values[(values.size - 1) // 2] + values[values.size // 2]) / 2),
        median_interval=None,
        mean=float(values.mean()),
        trimmed_mean=trimmed_mean(values, ordered=True),
        sd=float(values.std(ddof=1)) if values.size > 1 else 0.0,
        minimum=float(values[0]),
        maximum=float(values[-1]),
        outliers=[],
        samples=[],
        centiles=list(zip(CENTILES, at_centiles(values).tolist(), strict=True)) if spread else [],
        steps=_steps(values) if spread else [],
        band=_band(runs, each, part) if spread else [],
        course=_course(runs[0], part) if drawn and metric.course else [],
    )


def _summarised_in_chunks(runs: Sequence[AllSamples], part: str, *, drawn: bool) -> Summary:
    """The same of more samples than memory has room for."""
    metric = runs[0].metric
    spread = drawn and metric.chart == "cdf"

    def chunks() -> Iterator[np.ndarray]:
        return (chunk for one in runs for chunk in one.chunks(part))

    count = sum(chunk.size for chunk in chunks())
    middle, cut = ((count - 1) // 2, count // 2), left_out(count)
    centiles = places_of_centiles(count).tolist() if spread else []
    at = values_at(chunks, [0, cut, *middle, count - 1 - cut, count - 1, *centiles])
    found = moments(chunks, count, at[cut], at[count - 1 - cut], cut)
    return Summary(
        n=count,
        runs=len(runs),
        median=(at[middle[0]] + at[middle[1]]) / 2,
        median_interval=None,
        mean=found.mean,
        trimmed_mean=found.trimmed,
        sd=found.sd,
        minimum=at[0],
        maximum=at[count - 1],
        outliers=[],
        samples=[],
        centiles=[(centile, at[place]) for centile, place in zip(CENTILES, centiles, strict=True)] if spread else [],
        steps=_steps_in_chunks(chunks, count) if spread else [],
        band=_band_in_chunks(runs, part) if spread else [],
        course=_course_in_chunks(runs[0], part) if drawn and metric.course else [],
    )


def _steps_in_chunks(chunks: Chunks, count: int) -> list[tuple[float, float]]:
    """As :func:`_steps`."""
    found: dict[float, int] = {}
    for chunk in chunks():
        if _has_many(chunk):
            return []
        distinct, counts = counted(chunk)
        for value, times in zip(distinct.tolist(), counts.tolist(), strict=True):
            found[value] = found.get(value, 0) + times
        if len(found) > MOST_STEPS:
            return []
    shares = np.cumsum([found[value] for value in sorted(found)]) / count
    return list(zip(shares.tolist(), sorted(found), strict=True))


def _band_in_chunks(runs: Sequence[AllSamples], part: str) -> list[tuple[float, float, float]]:
    """As :func:`_band`."""
    if len(runs) == 1 and isinstance(runs[0], LongSamples):
        groups = [at_centiles(partly_ordered(values, centiles=True)) for values in runs[0].of_members()]
    else:
        groups = [_at_centiles_in_chunks(one, part) for one in runs]
    return _between(groups) if groups else []


def _at_centiles_in_chunks(samples: AllSamples, part: str) -> np.ndarray:
    places = places_of_centiles(sum(chunk.size for chunk in samples.chunks(part))).tolist()
    at = values_at(lambda: samples.chunks(part), places)
    return np.array([at[place] for place in places])


def _course_in_chunks(samples: AllSamples, part: str) -> list[tuple[float, float]]:
    """As :func:`_course`."""
    if isinstance(samples, Samples):
        return _course(samples, part)
    of = samples.keys[samples.metric.grain[0]]
    edges = _edges(of.values.size)
    means = np.add.reduceat(of.sums, edges) / np.add.reduceat(of.counts, edges)
    return list(zip(of.values[edges].astype(float).tolist(), means.tolist(), strict=True))


def _steps(values: np.ndarray) -> list[tuple[float, float]]:
    """Share of samples up to each distinct value, and the value; empty where there are many."""
    if _has_many(values):
        return []
    distinct, counts = counted(values)
    if distinct.size > MOST_STEPS:
        return []
    return list(zip((np.cumsum(counts) / values.size).tolist(), distinct.tolist(), strict=True))


def _has_many(values: np.ndarray) -> bool:
    """Returns whether some of the values, evenly apart, are distinct ones above :data:`MOST_STEPS`."""
    return np.unique(values[:: max(1, values.size // _FIRST_LOOK)]).size > MOST_STEPS


def _medians(samples: Mapping[Key, float]) -> list[tuple[float, float]]:
    """The median of the samples at each place on the last key column."""
    places: dict[float, list[float]] = {}
    for key, value in samples.items():
        places.setdefault(float(key[-1]), []).append(value)
    return [(place, float(np.median(values))) for place, values in sorted(places.items())]


def _band(runs: Sequence[Samples], each: Sequence[np.ndarray], part: str) -> list[tuple[float, float, float]]:
    """Returns the lowest and the highest value at each centile over runs, or over the members of one run."""
    groups = list(each)
    if len(runs) == 1:
        member = runs[0].member
        if member not in runs[0].metric.grain[1:]:
            return []
        codes = runs[0].codes(part, member)
        values = each[0]
        if runs[0].order[:1] != (member,):
            sorting = np.argsort(codes, kind="stable")
            codes, values = codes[sorting], values[sorting]
        groups = np.split(values, np.searchsorted(codes, np.arange(1, int(codes[-1]) + 1)))
    return _between([at_centiles(partly_ordered(group, centiles=True)) for group in groups])


def _between(groups: Sequence[np.ndarray]) -> list[tuple[float, float, float]]:
    """The lowest and the highest of the values at each centile."""
    found = np.array(groups)
    return list(zip(CENTILES, found.min(axis=0).tolist(), found.max(axis=0).tolist(), strict=True))


def _course(samples: Samples, part: str) -> list[tuple[float, float]]:
    """The mean of each of some stretches of consecutive units, by the first unit of each."""
    values, codes = samples.values(part), samples.codes(part, samples.metric.grain[0])
    units = ranks(samples.within(part)[samples.metric.grain[0]])
    count = int(codes.max()) + 1
    edges = _edges(count)
    stretch = (np.searchsorted(edges, np.arange(count), side="right") - 1)[codes]
    means = np.bincount(stretch, weights=values) / np.bincount(stretch)
    named = np.empty(count, units.dtype)
    named[codes] = units
    units = named[edges]
    return list(zip(units.astype(float).tolist(), means.tolist(), strict=True))


def _edges(count: int) -> np.ndarray:
    """The first unit of each stretch, of so many units."""
    return np.unique(np.linspace(0, count, min(_COURSE_POINTS, count), endpoint=False).astype(np.int64))
