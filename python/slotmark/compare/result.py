"""The result of a comparison, as plain data.

``compare`` (in :mod:`slotmark.compare.compare`) makes it from runs; report shows it. Nothing here computes.
"""

import datetime
from collections import Counter
from collections.abc import Sequence
from html import escape
from typing import Literal

import msgspec

from slotmark.cleaning import one_line
from slotmark.compare.results.details import Detail, Looks
from slotmark.compare.traits import Unit, traits_of, unit_of
from slotmark.metrics import Key, Metric
from slotmark.numbers import percent_change
from slotmark.run import Manifest
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


class Side(msgspec.Struct, frozen=True):
    """One side of a comparison: a run, or several of one target.

    Attributes:
        name: What to call it.
        manifest: Manifest of its first run.
        others: Manifests of its other runs.
        filters: What of its runs is analysed, in words; empty for benches without filters.
        facts: What follows from its first run's tables, as published manifests show it; names and values.
        warnings: Warnings about this side: its runs, their tables, or how it differs from the baseline.
    """

    name: str
    manifest: Manifest
    others: list[Manifest] = []
    filters: list[str] = []
    facts: list[tuple[str, str]] = []
    warnings: list[Warning] = []

    @property
    def manifests(self) -> list[Manifest]:
        """The manifests of all its runs, in order."""
        return [self.manifest, *self.others]


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
    conditional: bool = False
    basis: Basis | None = None
    detail: BlockDesign | None = None

    def turned(self) -> "Difference":
        """The same difference with the two sides exchanged; without a reason, whose words hold for one direction."""
        return msgspec.structs.replace(
            self,
            ratio=_inverse(self.ratio),
            bounds=_inverse(self.bounds),
            delta=self.delta and Interval(-self.delta.estimate, -self.delta.high, -self.delta.low),
            verdict=self.verdict and self.verdict.opposite,
            reason="",
            basis=self.basis and self.basis.turned(),
        )

    @property
    def excludes_none(self) -> bool:
        """Returns whether the interval excludes that there is no difference."""
        return self.ratio is not None and (self.ratio.low > 1 or self.ratio.high < 1)


class Row(msgspec.Struct, frozen=True, kw_only=True):
    """One metric in one part, over all sides.

    Attributes:
        metric: The catalogue's entry.
        part: Which samples, looked at by themselves: a setting such as ``decode, sequential``, or a kind of blocks; :data:`ALL` for all.
        quantity: What of them is compared.
        summaries: One per side, in the order of the sides; None where a side lacks this metric or part.
        fitted: The level of each side by the model that the differences follow from, in the metric's unit; None where levels are those of the samples.
        differences: One per candidate, in order; None where not compared.
        warnings: Warnings about this row.
    """

    metric: Metric
    part: str
    quantity: Quantity
    summaries: list[Summary | None]
    fitted: list[float] | None = None
    differences: list[Difference | None]
    warnings: list[Warning] = []

    @property
    def predicted(self) -> bool:
        """Returns whether its figures are predictions: an answer of their own, and no verdict on a target."""
        return traits_of(self.metric.estimator).predicts

    @property
    def title(self) -> str:
        """The metric's name with what distinguishes this row from its other rows."""
        return _title(self.metric.name, self.part, self.quantity)

    @property
    def levels(self) -> list[float | None]:
        """The level of each side, in the metric's unit: by the model, or else its median, or its mean where means or sums are compared."""
        if self.fitted is not None:
            return [*self.fitted]
        means = self.quantity in ("mean", "all blocks together")
        return [one and (one.mean if means else one.median) for one in self.summaries]

    def worst_within(self, margin: float) -> float | None:
        """The level, in the metric's unit, beyond which one is worse than the baseline's by more than a margin, a fraction; None where the baseline has none."""
        level = self.levels[0]
        return level and (level * (1 + margin) if self.metric.better == "lower" else level / (1 + margin))


Answer = Literal["ship", "hold", "run again"]


class Needed(msgspec.Struct, frozen=True):
    """The further measurements that would give a verdict.

    Attributes:
        over: What is repeated: ``runs``, ``processes``, ``rounds``, ``blocks``, ``slots``, ``hosts``, ``seeds``.
        size: How many a side there are.
        total: About how many a side are needed, for four chances in five.
    """

    over: str
    size: int
    total: int

    @property
    def more(self) -> int:
        """Returns the number of further ones."""
        return self.total - self.size


class Cause(msgspec.Struct, frozen=True, kw_only=True):
    """A reason why a candidate doesn't ship.

    Attributes:
        metric: The id of a decisive metric; empty for a warning.
        name: Name of the metric; of a warning its kind.
        part: As of a row.
        quantity: As of a row; None for a warning.
        candidate: The side's name.
        answer: What it leads to: ``hold`` or ``run again``.
        reason: In words.
        needed: How much more is needed; None where it is unknown, or nothing more is needed.
        conditional: Whether all that is missing is enough runs.
        tips_at: For single runs, where the spread of runs of one build is unknown: the standard deviation of a run's mean, as a share, at which
            what they show would be chance; None of all else.
    """

    metric: str
    name: str
    part: str
    quantity: Quantity | None
    candidate: str
    answer: Answer
    reason: str
    needed: Needed | None = None
    conditional: bool = False
    tips_at: float | None = None

    @property
    def title(self) -> str:
        """The title of the row that it follows from; of a warning its kind."""
        return _title(self.name, self.part, self.quantity)


class Decision(msgspec.Struct, frozen=True, kw_only=True):
    """The decision of a policy about a comparison.

    Attributes:
        answer: About all candidates: ``hold`` where one of them is held, else ``run again`` where one needs that, else ``ship``.
        line: The same in one line, with the metrics that cause it.
        policy: Its name.
        answers: One per candidate.
        reasons: Likewise, the reason for the answer, in words.
        causes: Why not ``ship``, candidate by candidate.
        accepted: Regressions that the policy accepts, in words.
        decisive: How many metrics are decisive.
        run_to_run: Where means of runs are compared: from what it is known how much runs of one build differ, in words.
    """

    answer: Answer
    line: str
    policy: str
    answers: list[Answer]
    reasons: list[str]
    causes: list[Cause] = []
    accepted: list[str] = []
    decisive: int
    run_to_run: str = ""


class Ranked(msgspec.Struct, frozen=True, kw_only=True):
    """One side among different targets, in one part.

    Attributes:
        side: Its place in the order of the sides, from 0.
        first: Its best place: 1, and one more for each side that is shown to be better than it.
        last: Its worst place: as many as there are in the part, less those that it is shown to be better than.
        level: Level of the ranked metric, in its unit: the median.
        interval: Interval of the level; None where samples aren't independent.
        beside: The levels of the metrics beside it, in order; None where it lacks one.
        next: Against the one below it; None for the last, and where they were not compared.
    """

    side: int
    first: int
    last: int
    level: float
    interval: Interval | None
    beside: list[float | None]
    next: Difference | None

    @property
    def place(self) -> str:
        """Its place, or the places that it may have: ``1``, ``2-3``."""
        return str(self.first) if self.first == self.last else f"{self.first}-{self.last}"


class PartRanking(msgspec.Struct, frozen=True):
    """The sides that have one part, the best level first."""

    part: str
    ranked: list[Ranked]


class TargetRanking(msgspec.Struct, frozen=True, kw_only=True):
    """Different targets ranked by one metric.

    Attributes:
        metric: By which.
        beside: The metrics that stand beside it.
        parts: In the order of the rows.
        line: The ranking of one part in one line.
    """

    metric: Metric
    beside: list[Metric]
    parts: list[PartRanking]
    line: str


def _inverse(ratio: Interval | None) -> Interval | None:
    if ratio is None:
        return None
    estimate, high, low = (1 / one if one > 0 else float("inf") for one in (ratio.estimate, ratio.low, ratio.high))
    return Interval(estimate, low, high)


def _title(name: str, part: str, quantity: Quantity | None) -> str:
    return ", ".join(filter(None, (name, part, quantity if quantity in OF_BLOCKS else "")))


class Comparison(msgspec.Struct, frozen=True, kw_only=True):
    """One baseline against one or more candidates, metric by metric.

    Attributes:
        bench: The bench of all runs.
        baseline: The first side.
        candidates: The others.
        rows: In the order of the catalogue; parts by name.
        details: What the estimators have beyond the rows.
        tests: Over how many tests p-values were adjusted.
        comparisons: How many comparisons share the error rate: p-values are adjusted over these, too.
        confidence: Confidence of every interval, as a fraction.
        repetitions: Repetitions of the bootstrap, as many as were made.
        seed: Seed of the bootstrap.
        warnings: Warnings about the comparison as a whole; those about a side or a row are there.
        decision: What follows for the candidates; None where no metric is decisive, and where different targets are ranked and no
            policy was given.
        ranking: Ranking of different targets; None for versions of one, and where the bench ranks none.
    """

    bench: str
    decision: Decision | None = None
    ranking: TargetRanking | None = None
    baseline: Side
    candidates: list[Side]
    rows: list[Row]
    details: list[Detail] = []
    tests: int
    comparisons: int = 1
    confidence: float
    repetitions: int
    seed: int
    warnings: list[Warning]

    def __repr__(self) -> str:
        counts = Counter(one.verdict for row in self.rows for one in row.differences if one and one.verdict)
        found = ", ".join(f"{count:,} {verdict}" for verdict in Verdict if (count := counts[verdict]))
        names = ", ".join(side.name for side in self.candidates)
        return f"<Comparison of {names or 'nothing'} with {self.baseline.name}: {found or 'no verdicts'}>"

    def _repr_html_(self) -> str:
        """The decision or the ranking, and a table of the rows that have a verdict, for notebooks."""
        line = f"<p><b>{escape(self.line)}</b></p>" if self.line else ""
        head = "".join(f"<th>{name}</th>" for name in ("metric", "part", "candidate", "difference, %", "verdict"))
        lines = [
            (row.metric.name, row.part, side.name, percent_change(one.ratio.estimate) if one.ratio else "", one.verdict)
            for row in self.rows
            for side, one in zip(self.candidates, row.differences, strict=True)
            if one and one.verdict
        ]
        body = "".join(f"<tr>{''.join(f'<td>{escape(one_line(cell))}</td>' for cell in cells)}</tr>" for cells in lines)
        return f"{line}<table><tr>{head}</tr>{body}</table>"

    @property
    def line(self) -> str:
        """The result in one line: the decision, else the ranking; empty where there is neither."""
        return self.decision.line if self.decision else self.ranking.line if self.ranking else ""

    @property
    def costs(self) -> Metric:
        """The metric of repeated costs of blocks that is the first: :class:`Blocks` has more of it."""
        return next(row.metric for row in self.rows if row.quantity in OF_BLOCKS)

    @property
    def sides(self) -> list[Side]:
        """Baseline and candidates, in order."""
        return [self.baseline, *self.candidates]

    @property
    def baseline_age_s(self) -> float | None:
        """Time from the beginning of the baseline's newest run to that of the first candidate's oldest, in s; None where one isn't known."""
        ours, theirs = (side.manifests for side in self.sides[:2])
        try:
            first, last = ([datetime.datetime.fromisoformat(one.started) for one in side] for side in (ours, theirs))
            return (min(last) - max(first)).total_seconds()
        except (ValueError, TypeError):
            return None

    @property
    def at_any_look(self) -> bool:
        """Returns whether rounds come one by one, and results hold at all looks together."""
        return any(isinstance(one, Looks) for one in self.details)

    @property
    def all_warnings(self) -> list[Warning]:
        """Every warning: of the comparison, of each side (with its name as the subject), of each row; one entry for the same words."""
        subjects: dict[tuple[str, str], list[str]] = {}
        for one in [
            *self.warnings,
            *warnings_of_sides(self.sides),
            *(one for row in self.rows for one in row.warnings),
        ]:
            subjects.setdefault((one.kind, one.text), []).append(one.subject)
        return [
            Warning(kind, text, "; ".join(dict.fromkeys(filter(None, of)))) for (kind, text), of in subjects.items()
        ]


def origin_in_line(sides: Sequence[Side]) -> str:
    """Stands in the line of a result where runs were simulated: `` (simulated)``, `` (partly simulated)``."""
    origins = {manifest.origin for side in sides for manifest in side.manifests}
    return "" if "simulated" not in origins else " (simulated)" if len(origins) == 1 else " (partly simulated)"


def warnings_of_sides(sides: Sequence[Side]) -> list[Warning]:
    """The warnings about sides, each with its side's name as the subject."""
    return [
        msgspec.structs.replace(one, subject=": ".join(dict.fromkeys(filter(None, (side.name, one.subject)))))
        for side in sides
        for one in side.warnings
    ]
