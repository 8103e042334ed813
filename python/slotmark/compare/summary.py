"""Samples of one metric in one run and setting, in short."""

from collections.abc import Mapping

import numpy as np
from scipy import stats

from slotmark.compare.comparison import Interval, Summary
from slotmark.metrics import Key

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
        median=median_interval(values, confidence),
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
