"""What a comparison is, as plain data.

``compare`` (in :mod:`slotmark.compare.comparing`) makes it from runs; report shows it. Nothing here computes.
"""

from typing import Literal

import msgspec

from slotmark.metrics import Key, Metric
from slotmark.run import Manifest
from slotmark.statistics.interval import Interval
from slotmark.warnings import Warning

Verdict = Literal["better", "worse", "equivalent", "inconclusive"]


class Summary(msgspec.Struct, frozen=True, kw_only=True):
    """The samples of one metric, in one run and setting, in short.

    Attributes:
        n: Number of samples.
        runs: Number of runs that they are of.
        median: Of the samples.
        median_interval: Between two of the ordered samples; None where samples aren't independent.
        mean: Arithmetic mean.
        trimmed_mean: Mean without the smallest and the largest tenth (at least one of each from 3 samples on).
        sd: Sample standard deviation (n - 1); 0 for one sample.
        minimum: Smallest sample.
        maximum: Largest sample.
        outliers: Keys of the samples more than 3 scaled MADs from the median.
        samples: Key and value of every sample, in key order; empty where there are more than 1,000.
        centiles: Share of samples and the value that so many don't exceed; of metrics that are drawn as a distribution.
        band: As centiles, the lowest and the highest value over hosts, or over runs where there are several; empty where there is one.
        course: First unit (a slot, a block number) and mean of each stretch of consecutive ones; of metrics that are drawn.
    """

    n: int
    runs: int = 1
    median: float
    median_interval: Interval | None
    mean: float
    trimmed_mean: float
    sd: float
    minimum: float
    maximum: float
    outliers: list[Key]
    samples: list[tuple[Key, float]]
    centiles: list[tuple[float, float]] = []
    band: list[tuple[float, float, float]] = []
    course: list[tuple[float, float]] = []


class Side(msgspec.Struct, frozen=True):
    """One side of a comparison: a run, or several of one target.

    Attributes:
        name: What to call it.
        manifest: Of its first run.
        others: Of its other runs.
        filters: What of its runs is analysed, in words; empty for benches without filters.
        facts: What follows from its first run's tables, as published manifests show it; names and values.
    """

    name: str
    manifest: Manifest
    others: list[Manifest] = []
    filters: list[str] = []
    facts: list[tuple[str, str]] = []

    @property
    def manifests(self) -> list[Manifest]:
        """Of all its runs, in order."""
        return [self.manifest, *self.others]


class Difference(msgspec.Struct, frozen=True, kw_only=True):
    """A candidate against the baseline in one metric and setting.

    Attributes:
        ratio: Candidate over baseline, with its interval; None where it can't be estimated (one sample, zeros).
        delta: Candidate less baseline, in the metric's unit; None for metrics that are compared by their typical ratio.
        p: Two-sided p-value of "no difference", as computed; None where not tested.
        p_adjusted: Holm-adjusted over all that the comparison tested.
        paired: Whether samples were paired by key.
        margin: The equivalence margin used, as a fraction.
        verdict: From interval, adjusted p-value and margin; None for metrics that aren't tested.
        reason: Why, in words; no capital, no full stop.
    """

    ratio: Interval | None
    delta: Interval | None = None
    p: float | None
    p_adjusted: float | None
    paired: bool
    margin: float
    verdict: Verdict | None
    reason: str


class Row(msgspec.Struct, frozen=True, kw_only=True):
    """One metric in one setting over all sides.

    Attributes:
        metric: The catalogue's entry.
        setting: The setting, empty where the bench has none.
        summaries: One a side, in the order of the sides; None where a side lacks this metric or setting.
        differences: One a candidate, in order; None where either summary is.
    """

    metric: Metric
    setting: str
    summaries: list[Summary | None]
    differences: list[Difference | None]


class Comparison(msgspec.Struct, frozen=True, kw_only=True):
    """One baseline against one or more candidates, metric by metric.

    Attributes:
        bench: The bench of all runs.
        baseline: The first side.
        candidates: The others.
        rows: In the order of the catalogue; settings by name.
        tests: Over how many tests p-values were adjusted.
        confidence: Of every interval, as a fraction.
        repetitions: Of the bootstrap, as many as were made.
        seed: Of the bootstrap.
        warnings: Doubts about the comparison and, with the side as the subject, about the runs.
    """

    bench: str
    baseline: Side
    candidates: list[Side]
    rows: list[Row]
    tests: int
    confidence: float
    repetitions: int
    seed: int
    warnings: list[Warning]

    @property
    def sides(self) -> list[Side]:
        """Baseline and candidates, in order."""
        return [self.baseline, *self.candidates]
