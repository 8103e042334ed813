"""What a comparison of repeated costs of the same blocks is, as plain data. :mod:`slotmark.compare.by_block` makes it."""

from typing import Literal

import msgspec

from slotmark.compare.comparison import Side, Verdict
from slotmark.metrics import Metric
from slotmark.statistics.block_pictures import Band, Density, Dot
from slotmark.statistics.factors import FactorEffect
from slotmark.statistics.friedman import Pair
from slotmark.statistics.interval import Interval
from slotmark.statistics.shift import Shift
from slotmark.warnings import Warning

Estimator = Literal["typical block", "all blocks together"]
"""Hodges-Lehmann's estimate of the blocks' ratios, or the ratio of sums."""

ALL = ""
"""The part that holds all blocks."""


class BlockDifference(msgspec.Struct, frozen=True, kw_only=True):
    """A candidate against the baseline in one metric and part, by one estimator.

    Attributes:
        blocks: How many.
        ratio: Candidate over baseline; None where it can't be estimated.
        p: Two-sided, of a ratio of 1; None where not tested.
        p_adjusted: Holm-adjusted over all that the comparison tested.
        p_equivalent: Of a difference as large as the margin (two one-sided tests), not adjusted.
        error_of_runs: Standard error of the log ratio from processes; None with one process on a side.
        error_of_blocks: From blocks.
        detectable: The smallest change that would be found four times in five, as a fraction; None with one process on a side.
        runs_needed: Processes a side for a change as large as the margin to be found four times in five; None where unknown or
            beyond reach.
        rank_biserial: How one-sided the blocks' differences are, -1 (all faster) to 1 (all slower); None for sums.
        faster: The probability that a block is faster; None for sums.
        margin: The equivalence margin, as a fraction.
        verdict: None where it is only shown.
        reason: Why, in words.
    """

    blocks: int
    ratio: Interval | None
    p: float | None
    p_adjusted: float | None
    p_equivalent: float | None
    error_of_runs: float | None
    error_of_blocks: float | None
    detectable: float | None
    runs_needed: int | None
    rank_biserial: float | None
    faster: float | None
    margin: float
    verdict: Verdict | None
    reason: str


class BlockRow(msgspec.Struct, frozen=True, kw_only=True):
    """One metric in one part of the blocks, by one estimator, over all sides.

    Attributes:
        metric: The catalogue's entry.
        part: Which blocks; :data:`ALL` for all of them.
        estimator: How.
        costs: One a side: the median block's cost, or the mean over blocks, means over processes, in the metric's unit. Of a part
            that depends on the pair, of the blocks of the first candidate's part. None where a side lacks the metric.
        differences: One a candidate; None where not compared.
    """

    metric: Metric
    part: str
    estimator: Estimator
    costs: list[float | None]
    differences: list[BlockDifference | None]


class Ranking(msgspec.Struct, frozen=True, kw_only=True):
    """Three targets or more over the same blocks, by rank.

    Attributes:
        chi_squared: Friedman's.
        p: Of it.
        mean_ranks: One a side; the cheapest has the smallest.
        pairs: Every pair of sides.
    """

    chi_squared: float
    p: float
    mean_ranks: list[float]
    pairs: list[Pair]


class BlockComparison(msgspec.Struct, frozen=True, kw_only=True):
    """One baseline against one or more candidates, block by block.

    Attributes:
        bench: Of all runs.
        baseline: The first side.
        candidates: The others.
        processes: One a side.
        blocks: How many.
        rows: In the catalogue's order.
        shifts: One list a candidate: the first metric's deciles.
        densities: One a side: the first metric's distribution.
        dots: One list a candidate: blocks with the first metric's ratio, at most 1,500.
        bands: One list a candidate: its typical ratio by cost.
        ranking: None with two sides.
        factors: Empty where the sides don't cross two factors, or have none.
        tests: Over how many tests p-values were adjusted.
        confidence: Of every interval, as a fraction.
        repetitions: Of the bootstrap.
        seed: Of the bootstrap.
        warnings: Doubts.
    """

    bench: str
    baseline: Side
    candidates: list[Side]
    processes: list[int]
    blocks: int
    rows: list[BlockRow]
    shifts: list[list[Shift]]
    densities: list[Density]
    dots: list[list[Dot]]
    bands: list[list[Band]]
    ranking: Ranking | None
    factors: list[FactorEffect]
    tests: int
    confidence: float
    repetitions: int
    seed: int
    warnings: list[Warning]

    @property
    def sides(self) -> list[Side]:
        """Baseline and candidates, in order."""
        return [self.baseline, *self.candidates]
