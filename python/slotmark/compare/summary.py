"""Samples of one metric in one run and setting, in short."""

from collections.abc import Mapping, Sequence

import numpy as np
from scipy import stats

from slotmark.compare.comparison import Interval, Summary
from slotmark.metrics import Key, Samples

OUTLIER_MADS = 3.0
"""Scaled median absolute deviations from the median beyond which a sample is marked. It is never dropped."""

KEPT_SAMPLES = 1_000
"""Up to this many samples are kept one by one."""

_MAD_SCALE = 1.4826
"""Makes the MAD the standard deviation of a normal distribution: 1 / Phi^-1(3/4)."""

_MEAN_DEVIATION_SCALE = 1.2533
"""The same for the mean absolute deviation: sqrt(pi / 2)."""


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


def trimmed_mean(values: np.ndarray) -> float:
    """The mean without the smallest and the largest tenth, at least one of each from 3 values on."""
    cut = max(1, values.size // 10) if values.size >= 3 else 0
    return float(np.sort(values)[cut : values.size - cut].mean())


def outlying(values: np.ndarray) -> np.ndarray:
    """Which values lie more than 3 scaled MADs from the median.

    Where more than half of the values are equal, the MAD is 0 and would mark all others: the scaled mean absolute
    deviation stands in for it then (Iglewicz and Hoaglin 1993).
    """
    distance = np.abs(values - np.median(values))
    scale = _MAD_SCALE * np.median(distance) or _MEAN_DEVIATION_SCALE * distance.mean()
    return distance > OUTLIER_MADS * scale


def median_interval(values: np.ndarray, confidence: float) -> Interval:
    """The median between two of the ordered values, interpolated so that it is covered at the confidence asked for.

    Free of any distribution: the number of values below the median is binomial. Interpolated after Hettmansperger and
    Sheather (1986). Of fewer values than the confidence needs (6 for 95 %), it is the smallest and the largest.
    """
    ordered = np.sort(values)
    n = ordered.size
    alpha = 1 - confidence
    # The interval from the k-th smallest to the k-th largest covers with 1 - 2 P(Binomial(n, 1/2) < k).
    outer = int(stats.binom.ppf(alpha / 2, n, 0.5))
    while outer > 0 and 2 * stats.binom.cdf(outer - 1, n, 0.5) > alpha:
        outer -= 1
    middle = float(np.median(ordered))
    if outer == 0:
        return Interval(middle, float(ordered[0]), float(ordered[-1]))
    inner = min(outer + 1, (n + 1) // 2)
    covers_outer = 1 - 2 * stats.binom.cdf(outer - 1, n, 0.5)
    covers_inner = 1 - 2 * stats.binom.cdf(inner - 1, n, 0.5)
    share = 0.0
    if inner > outer:
        step = (covers_outer - confidence) / (covers_outer - covers_inner)
        share = (n - outer) * step / (outer + (n - 2 * outer) * step)
    low = (1 - share) * ordered[outer - 1] + share * ordered[inner - 1]
    high = (1 - share) * ordered[n - outer] + share * ordered[n - inner]
    return Interval(middle, float(np.clip(low, ordered[0], middle)), float(np.clip(high, middle, ordered[-1])))


CENTILES = (
    *(0.0, 0.01, 0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.75, 0.8, 0.85, 0.875, 0.9, 0.925, 0.95, 0.97, 0.98, 0.99),
    *(0.995, 0.997, 0.998, 0.999, 0.9995, 0.9997, 0.9998, 0.9999, 1.0),
)
"""The centiles of the published distributions."""

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


def at_centiles(ordered: np.ndarray) -> np.ndarray:
    """The values at :data:`CENTILES` of ordered values: the one at the place floor(n * centile), as published."""
    places = np.minimum(ordered.size - 1, np.floor(ordered.size * np.array(CENTILES)).astype(np.int64))
    return ordered[places]


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
