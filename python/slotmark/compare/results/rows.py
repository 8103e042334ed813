"""The rows of a comparison, as plain data: metrics in parts, with the samples of each side and the differences between them."""

from typing import Literal

import msgspec

from slotmark.compare.traits import Unit, traits_of, unit_of
from slotmark.metrics import Key, Metric
from slotmark.statistics.interval import Interval
from slotmark.verdict import Verdict
from slotmark.warnings import Warning

Quantity = Literal["typical", "mean", "typical block", "all blocks together"]
"""The quantity of a metric's samples that a row compares: the typical sample (a trimmed mean of log values), the arithmetic mean, the typical block (Hodges-Lehmann's estimate of the blocks' ratios), or the sum over all blocks."""


OF_BLOCKS: tuple[Quantity, Quantity] = ("typical block", "all blocks together")
"""The quantities that are compared of costs of the same blocks. A metric can have a row of each, so the quantity is a part of their titles."""


ALL = ""
"""The part that holds all samples."""


NOT_KNOWN = "not known"
"""The source of the spread where it is unknown."""


FROM_RUNS = "runs"
"""The source of a basis where runs of the comparison show how much runs of one build differ."""


Design = Literal["runs", "paired rounds", "paired seeds", "mixed rounds"]
"""Ways to repeat whole executions of two builds, as a :class:`Basis` names them."""


class Summary(msgspec.Struct, frozen=True, kw_only=True):
    """The samples of one metric, on one side and in one part.

    Attributes:
        n: Number of samples; of blocks with repeated costs the number of blocks, each with its mean over processes.
        runs: Number of runs that they are of; of blocks with repeated costs the number of processes.
        median: Median of the samples.
        median_interval: Between two of the ordered samples; None where samples aren't independent.
        mean: Arithmetic mean.
        trimmed_mean: Mean without the smallest and the largest tenth (at least one of each from 3 samples on).
        sd: Sample standard deviation (n - 1); 0 for one sample.
        minimum: Smallest sample.
        maximum: Largest sample.
        outliers: Keys of the samples more than 3 scaled MADs from the median.
        samples: Key and value of every sample, in key order; empty where there are more than 1,000.
        centiles: Share of samples and the value that this share doesn't exceed; of metrics that are drawn as a distribution.
        steps: Distinct values of such a metric, where there are few, each with the share of samples up to it, as (share, value).
        band: As centiles, the lowest and the highest value over hosts, or over runs where there are several; empty where there is one.
        course: First unit (a slot, a block number) and mean of each stretch of consecutive ones, of metrics that are drawn over the
            run; of metrics drawn as a timeline, each place on the last key column and the median of its samples.
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
    steps: list[tuple[float, float]] = []
    band: list[tuple[float, float, float]] = []
    course: list[tuple[float, float]] = []

    @property
    def standard_error(self) -> float | None:
        """The standard error of the mean of independent samples, in the metric's unit; None for one sample."""
        return self.sd / self.n**0.5 if self.n > 1 else None


class BlockDesign(msgspec.Struct, frozen=True, kw_only=True):
    """Fields of a difference of repeated block costs beyond the common ones.

    Attributes:
        blocks: How many blocks count.
        effective_blocks: The number of independent ones that would be as informative; None where there is no ratio.
        p_equivalent: p-value of a difference as large as the margin (two one-sided tests), not adjusted.
        error_of_runs: Standard error of the log ratio from processes; None with one process on a side.
        error_of_blocks: Standard error of the log ratio from blocks.
        detectable: The smallest change that would be found four times in five, as a fraction; None with one process on a side.
        runs_needed: Processes per side for a change as large as the margin to be found four times in five; None where unknown or
            beyond reach.
        rank_biserial: How one-sided the blocks' differences are, -1 (all faster) to 1 (all slower); None for sums.
        faster: The probability that a block is faster; None for sums.
    """

    blocks: int
    effective_blocks: float | None
    p_equivalent: float | None
    error_of_runs: float | None
    error_of_blocks: float | None
    detectable: float | None
    runs_needed: int | None
    rank_biserial: float | None
    faster: float | None


class Basis(msgspec.Struct, frozen=True):
    """The basis of an interval.

    Attributes:
        over: What was repeated: ``runs``, ``paired rounds`` and ``paired seeds`` of them, ``mixed rounds`` of both sides in one cluster, ``processes``, ``rounds``, ``seeds``; or, inside single runs, ``blocks``, ``matched blocks`` (of two
            runs with the same leaders), ``slots``, ``hosts``, ``matched hosts`` (of two runs on the same machines).
        counts: How many of them, of the baseline and of the candidate.
        effective: The numbers of independent ones that would be as informative; below the counts where neighbours are alike.
        degrees: Degrees of freedom of the variation between runs of one build, from all sides; 0 where the interval isn't over runs.
        source: Source of that variation, in words: ``runs`` of the comparison, or the name of a table; empty where the interval isn't over runs.
    """

    over: str
    counts: tuple[int, int]
    effective: tuple[float, float]
    degrees: float = 0.0
    source: str = ""

    @property
    def unit(self) -> Unit:
        """Facts about what was repeated."""
        return unit_of(self.over)

    @property
    def of_runs(self) -> bool:
        """Returns whether whole executions were repeated, and not only samples inside single ones."""
        return self.unit.of_runs

    def turned(self) -> "Basis":
        """The same with the two sides exchanged."""
        return msgspec.structs.replace(self, counts=self.counts[::-1], effective=self.effective[::-1])


class Difference(msgspec.Struct, frozen=True, kw_only=True):
    """A candidate against the baseline in one row.

    Attributes:
        ratio: Candidate over baseline, with its interval; None where it can't be estimated (one sample, zeros).
        bounds: The ratio with the interval that decides, at 98 %: each end alone is wrong in at most 1 of 100 cases; None as ``ratio``.
        delta: Candidate less baseline, in the metric's unit; None where only ratios are compared.
        p: Two-sided p-value of "no difference"; None where not tested.
        p_adjusted: Holm-adjusted over all that the comparison tested.
        p_is_bound: Whether both p-values are upper bounds: the bootstrap could give no smaller ones.
        paired: Whether samples were paired by key.
        margin: The equivalence margin used, as a fraction.
        margin_absolute: The same in the metric's unit, where that is how it was set; None where it was set as a fraction.
        verdict: From interval, adjusted p-value and margin; None for what is only shown.
        reason: Why, in words; no capital, no full stop.
        drift: The ratio with the interval that has the widest drift of the level that noise may hide, where that alone keeps back a verdict;
            else None.
        conditional: Whether a verdict of better, worse or equivalent holds for these runs only: fewer than 3 on a side can't show how
            much others would differ.
        basis: What the interval rests on; None where there is none.
        detail: What the estimator has beyond this; None for most.
    """

    ratio: Interval | None
    bounds: Interval | None = None
    delta: Interval | None = None
    p: float | None
    p_adjusted: float | None
    p_is_bound: bool = False
    paired: bool
    margin: float
    margin_absolute: float | None = None
    verdict: Verdict | None
    reason: str
    drift: Interval | None = None
    conditional: bool = False
    basis: Basis | None = None
    detail: BlockDesign | None = None

    def turned(self) -> "Difference":
        """The same difference with the two sides exchanged; without a reason, whose words hold for one direction."""
        return msgspec.structs.replace(
            self,
            ratio=inverse(self.ratio),
            bounds=inverse(self.bounds),
            delta=self.delta and Interval(-self.delta.estimate, -self.delta.high, -self.delta.low),
            verdict=self.verdict and self.verdict.opposite,
            reason="",
            drift=inverse(self.drift),
            basis=self.basis and self.basis.turned(),
        )

    @property
    def limits(self) -> tuple[float, float]:
        """The ratios between which the difference doesn't matter."""
        return limits(self.margin, absolute=self.margin_absolute is not None)

    @property
    def excludes_none(self) -> bool:
        """Returns whether the interval excludes that there is no difference."""
        if self.ratio is None:
            return self.p_adjusted is not None and self.delta is not None and not self.delta.low <= 0 <= self.delta.high
        return self.ratio.low > 1 or self.ratio.high < 1


class Row(msgspec.Struct, frozen=True, kw_only=True):
    """One metric in one part, over all sides.

    Attributes:
        metric: The catalogue's entry.
        part: Which samples, looked at by themselves: a setting such as ``decode, sequential``, or a kind of blocks; :data:`ALL` for all.
        quantity: What of them is compared.
        summaries: One per side, in the order of the sides; None where a side lacks this metric or part.
        fitted: The level of each side that the differences are between, in the metric's unit: by a model, or the mean of the means of its runs; None for a side without the metric, and where
            levels are those of the samples.
        differences: One per candidate, in order; None where not compared.
        warnings: Warnings about this row.
    """

    metric: Metric
    part: str
    quantity: Quantity
    summaries: list[Summary | None]
    fitted: list[float | None] | None = None
    differences: list[Difference | None]
    warnings: list[Warning] = []

    @property
    def predicted(self) -> bool:
        """Returns whether its figures are predictions: an answer of their own, and no verdict on a target."""
        return traits_of(self.metric.estimator).predicts

    @property
    def title(self) -> str:
        """The metric's name with what distinguishes this row from its other rows."""
        return row_title(self.metric.name, self.part, self.quantity)

    @property
    def levels(self) -> list[float | None]:
        """The level of each side, in the metric's unit: by the model, or else its median, or its mean where means or sums are compared."""
        if self.fitted is not None:
            return [*self.fitted]
        return [one and (one.median if self.of_medians else one.mean) for one in self.summaries]

    @property
    def of_medians(self) -> bool:
        """Returns whether levels are medians, beside ratios of typical samples."""
        return self.fitted is None and self.quantity not in ("mean", "all blocks together")

    def levels_contradict(self, place: int) -> bool:
        """Returns whether medians move beyond the margin to the other side than the typical ratio, which decides: neither alone describes such samples.

        Args:
            place: Place of the candidate among the candidates.
        """
        ours, theirs, difference = self.levels[0], self.levels[place + 1], self.differences[place]
        if not self.of_medians or not ours or theirs is None or difference is None or difference.ratio is None:
            return False
        floor, ceiling = difference.limits
        by_levels, decides = theirs / ours, difference.ratio.estimate
        return (by_levels > ceiling and decides < 1) or (by_levels < floor and decides > 1)

    def open_beyond(self, difference: Difference, confidence: float) -> bool:
        """Returns whether the whole interval is worse than the margin, and only the adjusted p-value keeps the difference from a verdict."""
        if difference.verdict != Verdict.UNDECIDED or difference.ratio is None or difference.p_adjusted is None:
            return False
        floor, ceiling = difference.limits
        beyond = difference.ratio.low > ceiling if self.metric.better == "lower" else difference.ratio.high < floor
        return beyond and difference.p_adjusted >= 1 - confidence

    def worst_within(self, difference: Difference) -> float | None:
        """The level, in the metric's unit, beyond which one is worse than the baseline's by more than the margin; None where the baseline has none."""
        level, lower = self.levels[0], self.metric.better == "lower"
        if level is None or difference.margin_absolute is None:
            return level and level * difference.limits[lower]
        return level + difference.margin_absolute if lower else level - difference.margin_absolute


def inverse(ratio: Interval | None) -> Interval | None:
    """The baseline over the candidate, where the ratio is the candidate over the baseline; infinity where that is 0."""
    if ratio is None:
        return None
    estimate, high, low = (1 / one if one > 0 else float("inf") for one in (ratio.estimate, ratio.low, ratio.high))
    return Interval(estimate, low, high)


def limits(margin: float, *, absolute: bool) -> tuple[float, float]:
    """The ratios to the baseline between which a difference doesn't matter.

    A share m of the baseline is 1 / (1 + m) and 1 + m, so that exchanging two sides exchanges better and worse and changes nothing else. A difference in the metric's
    unit is as large in both directions.

    Args:
        margin: As a share of the baseline.
        absolute: Whether it was set in the metric's unit.
    """
    return (max(0.0, 1 - margin) if absolute else 1 / (1 + margin)), 1 + margin


def row_title(name: str, part: str, quantity: Quantity | None) -> str:
    """A metric's name with what distinguishes one of its rows from the others."""
    return ", ".join(filter(None, (name, part, quantity if quantity in OF_BLOCKS else "")))
