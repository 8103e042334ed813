"""One run's samples of one metric in short."""

from collections.abc import Mapping

import numpy as np

from slotmark.compare.comparison import Interval, Key, Summary
from slotmark.compare.resampling import Values, generator, median_interval

OUTLIER_MADS = 3.0
"""An outlier lies farther than so many scaled MADs from the median; scaled by 1.4826, a MAD estimates a standard deviation."""
MAD_SCALE = 1.4826
TRIM = 0.10
MOST_KEPT = 2_000
"""Samples are kept one by one up to so many."""


def summarise(
    samples: Mapping[Key, float], confidence: float = 0.95, repetitions: int = 10_000, seed: int = 1
) -> Summary:
    """The summary of at least one sample, by key."""
    values = np.array(list(samples.values()), dtype=np.float64)
    low, high = median_interval(
        values, confidence, repetitions if values.size <= 100 else 1000, generator(seed, "median")
    )
    return Summary(
        n=values.size,
        median=Interval(float(np.median(values)), low, high),
        mean=float(values.mean()),
        trimmed_mean=trimmed_mean(values),
        sd=float(values.std(ddof=1)) if values.size > 1 else 0.0,
        minimum=float(values.min()),
        maximum=float(values.max()),
        outliers=outliers(samples),
        samples=list(samples.items()) if values.size <= MOST_KEPT else [],
    )


def trimmed_mean(values: Values) -> float:
    """The mean without the smallest and the largest tenth, at least one of each from 3 values on."""
    cut = max(1, int(TRIM * values.size)) if values.size >= 3 else 0
    return float(np.sort(values)[cut : values.size - cut].mean())


def outliers(samples: Mapping[Key, float]) -> list[Key]:
    """Keys of the samples more than 3 scaled MADs from the median; none where half of the samples are equal."""
    values = np.array(list(samples.values()), dtype=np.float64)
    distance = np.abs(values - np.median(values))
    limit = OUTLIER_MADS * MAD_SCALE * float(np.median(distance))
    return [key for key, far in zip(samples, distance > limit, strict=True) if far and limit > 0]
