"""Location, spread and outliers of values: trimmed mean, the median between two order statistics, robust deviations, outliers, centiles."""

import numpy as np
import pyarrow as pa
import scipy

from slotmark import _core
from slotmark.statistics.interval import Interval

OUTLIER_MADS = 3.0
"""Scaled median absolute deviations from the median beyond which a sample is marked. It is never dropped."""

MAD_SCALE = 1.4826
"""Makes the MAD the standard deviation of a normal distribution: 1 / Phi^-1(3/4)."""

_MEAN_DEVIATION_SCALE = 1.2533
"""The same for the mean absolute deviation: sqrt(pi / 2)."""

_PAIR_SCALE = 2.2191
"""Makes the smallest quarter of distances between two values the standard deviation of a normal distribution: 1 / (sqrt(2) Phi^-1(5/8))."""

MOST_PAIRED = 500
"""Values of which every two are compared."""

_FEW_PAIRS = {2: 0.399, 3: 0.994, 4: 0.512, 5: 0.844, 6: 0.611, 7: 0.857, 8: 0.669, 9: 0.872}
"""Further factors for few values, by their number."""

CENTILES = (
    *(0.0, 0.01, 0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.75, 0.8, 0.85, 0.875, 0.9, 0.925, 0.95, 0.97, 0.98, 0.99),
    *(0.995, 0.997, 0.998, 0.999, 0.9995, 0.9997, 0.9998, 0.9999, 1.0),
)
"""The centiles of the published distributions."""


def partly_ordered(values: np.ndarray, *, centiles: bool = False) -> np.ndarray:
    """The values with the smallest, the largest, those in the middle, those at the ends of the trimmed mean, and perhaps those at :data:`CENTILES` in their places."""
    last, cut = values.size - 1, left_out(values.size)
    places = {0, cut, last // 2, values.size // 2, last - cut, last}
    ordered = _core.partitioned(values, [*places, *(places_of_centiles(values.size).tolist() if centiles else ())])
    return np.frombuffer(pa.py_buffer(ordered), np.float64)


def counted(values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The distinct values, rising, and how often each occurs; both shape (distinct,). Values are hashed: 17 ms for 3.3 million, which are sorted in 60 to 110."""
    found = pa.array(values).value_counts()
    distinct, places = np.unique(found.field("values").to_numpy(), return_inverse=True)  # 0 and -0 are one
    return distinct, np.bincount(places, weights=found.field("counts").to_numpy()).astype(np.int64)


def left_out(count: int) -> int:
    """Returns how many of some values the trimmed mean leaves out at each end."""
    return max(1, count // 10) if count >= 3 else 0


def trimmed_mean(values: np.ndarray, *, ordered: bool = False) -> float:
    """The mean without the smallest and the largest tenth, at least one of each from 3 values on; ``ordered`` values rise, at least as of :func:`partly_ordered`."""
    cut = left_out(values.size)
    rising = values if ordered else np.sort(values)
    return float(rising[cut : values.size - cut].mean())


def median_deviation(values: np.ndarray) -> float:
    """The median absolute deviation about the median, times 1.4826: of normal values it is their standard deviation."""
    return MAD_SCALE * float(np.median(np.abs(values - np.median(values))))


def pair_deviation(values: np.ndarray) -> float:
    """Qn of at least two values: the standard deviation of normal values by the smallest quarter of the distances between two of them.

    Values far from the others don't change it much, as long as they are fewer than half. With few values it is much less uncertain than
    :func:`median_deviation`. The definition and its factors are those of Rousseeuw and Croux 1993. Of more than :data:`MOST_PAIRED` values it is that of so
    many of them, evenly chosen in their order: 10,000 have 50 million distances.
    """
    if values.size > MOST_PAIRED:
        values = np.sort(values)[np.linspace(0, values.size - 1, MOST_PAIRED).astype(np.int64)]
    n = values.size
    first, second = np.triu_indices(n, 1)
    half = n // 2 + 1
    place = half * (half - 1) // 2 - 1
    factor = _FEW_PAIRS.get(n) or (n / (n + 1.4) if n % 2 else n / (n + 3.8))
    return _PAIR_SCALE * factor * float(np.partition(np.abs(values[first] - values[second]), place)[place])


def outlying(values: np.ndarray) -> np.ndarray:
    """Returns a mask of the values that lie more than 3 scaled MADs from the median.

    Where more than half of the values are equal, the MAD is 0 and would mark all others: the scaled mean absolute
    deviation stands in for it then (Iglewicz and Hoaglin 1993).
    """
    distance = np.abs(values - np.median(values))
    scale = median_deviation(values) or _MEAN_DEVIATION_SCALE * distance.mean()
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
    outer = int(scipy.stats.binom.ppf(alpha / 2, n, 0.5))
    while outer > 0 and 2 * scipy.stats.binom.cdf(outer - 1, n, 0.5) > alpha:
        outer -= 1
    middle = float(np.median(ordered))
    if outer == 0:
        return Interval(middle, float(ordered[0]), float(ordered[-1]))
    inner = min(outer + 1, (n + 1) // 2)
    covers_outer = 1 - 2 * scipy.stats.binom.cdf(outer - 1, n, 0.5)
    covers_inner = 1 - 2 * scipy.stats.binom.cdf(inner - 1, n, 0.5)
    share = 0.0
    if inner > outer:
        step = (covers_outer - confidence) / (covers_outer - covers_inner)
        share = (n - outer) * step / (outer + (n - 2 * outer) * step)
    low = (1 - share) * ordered[outer - 1] + share * ordered[inner - 1]
    high = (1 - share) * ordered[n - outer] + share * ordered[n - inner]
    return Interval(middle, float(np.clip(low, ordered[0], middle)), float(np.clip(high, middle, ordered[-1])))


def at_centiles(ordered: np.ndarray) -> np.ndarray:
    """The values at :data:`CENTILES` of values that have these in their places: the one at the place floor(n * centile), as published."""
    return ordered[places_of_centiles(ordered.size)]


def places_of_centiles(size: int) -> np.ndarray:
    """The places of the values at :data:`CENTILES` of so many values in order."""
    return np.minimum(size - 1, np.floor(size * np.array(CENTILES)).astype(np.int64))
