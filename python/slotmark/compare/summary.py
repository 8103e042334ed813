"""Samples of one metric in one run and setting, in short."""

from collections.abc import Mapping, Sequence

import numpy as np

from slotmark.compare.comparison import Summary
from slotmark.metrics import Key, Samples
from slotmark.statistics.location import CENTILES, at_centiles, median_interval, outlying, trimmed_mean

KEPT_SAMPLES = 1_000
"""Up to this many samples are kept one by one."""


def summarise(samples: Mapping[Key, float], confidence: float = 0.95) -> Summary:
    """The summary of at least one sample.

    Args:
        samples: Key to value, in key order.
        confidence: Of the median's interval, as a fraction.
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
    )


_COURSE_POINTS = 120


def summarise_runs(runs: Sequence[Samples], setting: str) -> Summary:
    """The summary of many samples of one or more runs, of a metric whose mean is compared.

    The mean of several runs is that of all their samples. No sample is kept by itself, and the median has no interval: samples
    of one run aren't independent.
    """
    metric = runs[0].metric
    each = [one.values(setting) for one in runs]
    values = np.sort(np.concatenate(each))
    drawn = metric.chart == "cdf"
    return Summary(
        n=values.size,
        runs=len(runs),
        median=float(np.median(values)),
        median_interval=None,
        mean=float(values.mean()),
        trimmed_mean=trimmed_mean(values),
        sd=float(values.std(ddof=1)) if values.size > 1 else 0.0,
        minimum=float(values[0]),
        maximum=float(values[-1]),
        outliers=[],
        samples=[],
        centiles=list(zip(CENTILES, at_centiles(values).tolist(), strict=True)) if drawn else [],
        band=_band(runs, each, setting) if drawn else [],
        course=_course(runs[0], setting) if metric.course else [],
    )


def _band(runs: Sequence[Samples], each: Sequence[np.ndarray], setting: str) -> list[tuple[float, float, float]]:
    """The lowest and the highest value at each centile over runs, or over the hosts of one run."""
    groups = list(each)
    if len(runs) == 1:
        if "host" not in runs[0].metric.grain[1:]:
            return []
        hosts = runs[0].within(setting)["host"].combine_chunks().dictionary_encode()
        codes = hosts.indices.to_numpy()
        order = np.argsort(codes, kind="stable")
        groups = np.split(each[0][order], np.flatnonzero(np.diff(codes[order])) + 1)
    found = np.array([at_centiles(np.sort(group)) for group in groups])
    return list(zip(CENTILES, found.min(axis=0).tolist(), found.max(axis=0).tolist(), strict=True))


def _course(samples: Samples, setting: str) -> list[tuple[float, float]]:
    """The mean of each of some stretches of consecutive units, by the first unit of each."""
    units = samples.within(setting)[samples.metric.grain[0]].to_numpy()
    values, starts = samples.values(setting), samples.unit_starts(setting)
    edges = starts[
        np.unique(np.linspace(0, starts.size, min(_COURSE_POINTS, starts.size), endpoint=False).astype(np.int64))
    ]
    means = np.add.reduceat(values, edges) / np.diff(np.append(edges, values.size))
    return list(zip(units[edges].astype(float).tolist(), means.tolist(), strict=True))
