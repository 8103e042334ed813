"""The interface between the driver and an estimator: its task, and its rows, whose p-values aren't adjusted yet."""

import zlib
from collections.abc import Callable, Iterator, Sequence
from typing import Protocol

import msgspec
import numpy as np

from slotmark.compare.margins import least_that_matters
from slotmark.compare.result import Comparison, Side
from slotmark.compare.results.details import Detail, Planned
from slotmark.compare.results.rows import ALL, Basis, BlockDesign, Quantity, Summary
from slotmark.compare.run_to_run.prior import Prior
from slotmark.compare.traits import Traits
from slotmark.compare.verdict import Judgement
from slotmark.metrics import Analysis, Catalogue, Metric, catalogue
from slotmark.numbers import fixed, p_value
from slotmark.statistics.interval import Interval
from slotmark.statistics.ratio import Ratio
from slotmark.statistics.serial import serial
from slotmark.verdict import Verdict
from slotmark.warnings import Warning

ORDERS = 2_000
"""In which samples are put to test whether they drift."""

DRIFTS_BELOW = 0.02
"""The p-value below which they do."""

_FINER = 20
"""The smallest p-value that a bootstrap can give, adjusted, is at most 1 - confidence over this."""


class How(msgspec.Struct, frozen=True):
    """Settings of intervals and p-values.

    Attributes:
        confidence: Confidence of intervals, as a fraction.
        repetitions: How many draws; None for as many as the estimator makes unless asked.
        seed: Seed of the comparison; each metric and part draws from a stream of its own.
        threads: How many candidates may be worked on at a time.
        prior: What is known of how much runs of one build differ, beside the runs; None for nothing.
        at_any_look: Whether rounds come one by one and are looked at meanwhile: only what holds at all looks together has a verdict.
    """

    confidence: float
    repetitions: int | None
    seed: int
    threads: int
    prior: Prior | None = None
    at_any_look: bool = False

    def draws(self, usual: int, tests: int = 0) -> int:
        """Returns the number of draws: more than usual where p-values come from them and many tests need smaller ones."""
        return max(self.repetitions or usual, round(_FINER * tests / (1 - self.confidence)))

    def stream(self, *names: str) -> list[int]:
        """The seed of what has these names: what else is compared beside it changes nothing."""
        return [self.seed, *(zlib.crc32(name.encode()) for name in names)]


class Task(msgspec.Struct, frozen=True):
    """The task of an estimator.

    Attributes:
        sides: The baseline, then the candidates.
        analyses: One list per side, one analysis per run.
        metrics: Those that the catalogue gives to this estimator, with their margins.
        how: How.
        begun: Called with the name of each metric when work on it begins; may raise to stop.
    """

    sides: Sequence[Side]
    analyses: Sequence[Sequence[Analysis]]
    metrics: Sequence[Metric]
    how: How
    begun: Callable[[str], None] | None = None

    def in_turn(self) -> Iterator[Metric]:
        """The metrics one by one, each announced when work on it begins."""
        for metric in self.metrics:
            if self.begun:
                self.begun(metric.name)
            yield metric

    @property
    def bench(self) -> Catalogue:
        """The catalogue of the runs' bench."""
        return catalogue(self.sides[0].manifest.bench)

    @property
    def tests(self) -> int:
        """At most how many tests there are per part."""
        return (len(self.sides) - 1) * sum(metric.tested for metric in self.metrics)


class Measured(msgspec.Struct, frozen=True, kw_only=True):
    """A difference before it's known how many other tests there are.

    Attributes:
        ratio: None where it can't be estimated.
        bounds: The ratio with the interval that decides: each end alone is wrong in at most 1 of 100 cases.
        widest: The ratio with an interval that a verdict must stand up to unless it is asked for these runs only; None where there is none.
        delta: In the metric's unit; None where only ratios are compared.
        delta_bounds: The same with the interval that decides, where there is no ratio to judge.
        p: Two-sided p-value of no difference; None where none can be computed.
        p_is_bound: Whether p is an upper bound: the bootstrap could give no smaller one.
        paired: Whether samples were paired by key.
        shown: Why it is only shown, in words; empty where it is tested.
        settled: Verdict and reason where they don't depend on the p-value; None where they do.
        margin: The equivalence margin, where it isn't the metric's.
        margin_absolute: The same in the metric's unit, where that is how it was set.
        conditional: Whether a verdict holds for these runs only.
        basis: What the interval rests on.
        detail: What the estimator has beyond this.
    """

    ratio: Interval | None
    bounds: Interval | None = None
    widest: Interval | None = None
    delta: Interval | None = None
    delta_bounds: Interval | None = None
    p: float | None = None
    p_is_bound: bool = False
    paired: bool
    shown: str = ""
    settled: Judgement | None = None
    margin: float | None = None
    margin_absolute: float | None = None
    conditional: bool = False
    basis: Basis | None = None
    detail: BlockDesign | None = None

    @property
    def tested(self) -> bool:
        """Returns whether its p-value is one of those that are adjusted together."""
        return self.p is not None and not self.shown and not self.settled


def measured_of_means(
    metric: Metric,
    base: float,
    delta: Interval,
    bounds: Interval,
    *,
    p: float,
    paired: bool,
    shown: str,
    basis: Basis,
    widest: Interval | None = None,
    conditional: bool = False,
    settled: Judgement | None = None,
) -> Measured:
    """A difference of means as a ratio to the baseline's mean, with the margin that is in force there.

    Of a baseline of 0 or below nothing is a share: there the metric's least difference is the margin, and without one nothing says what matters.

    Args:
        metric: Which.
        base: The baseline's mean.
        delta: The difference, in the metric's unit.
        bounds: The same with the interval that decides.
        p: As the others, an attribute of :class:`Measured`.
        paired: As above.
        shown: As above.
        basis: As above.
        widest: As ``bounds``, and what it is, as above.
        conditional: As above.
        settled: As above.
    """
    if base <= 0:
        no_share = "the baseline's mean is 0 or below, so there is no share of it that matters"
        return Measured(
            ratio=None,
            delta=delta,
            delta_bounds=bounds,
            p=p,
            paired=paired,
            shown=shown,
            settled=settled or (None if metric.least else Judgement(Verdict.UNDECIDED, no_share)),
            margin_absolute=metric.least or None,
            conditional=conditional,
            basis=basis,
        )
    absolute = least_that_matters(metric, base)
    return Measured(
        ratio=delta.from_base(base),
        bounds=bounds.from_base(base),
        widest=widest and widest.from_base(base),
        delta=delta,
        p=p,
        paired=paired,
        shown=shown,
        settled=settled,
        margin=metric.margin if absolute is None else absolute / base,
        margin_absolute=absolute,
        conditional=conditional,
        basis=basis,
    )


def measured_of_ratio(
    found: Ratio,
    repetitions: int,
    *,
    paired: bool,
    shown: str,
    settled: Judgement | None,
    conditional: bool,
    basis: Basis,
) -> Measured:
    """A ratio that a bootstrap of this many draws found; the others are attributes of :class:`Measured`."""
    return Measured(
        ratio=found.interval,
        bounds=found.bounds,
        p=found.p,
        p_is_bound=found.p <= 2 / (repetitions + 1),
        paired=paired,
        shown=shown,
        settled=settled,
        conditional=conditional,
        basis=basis,
    )


def drift_warnings(
    bench: Catalogue, pair: Sequence[np.ndarray], subject: str, seed: Sequence[int]
) -> Sequence[Warning]:
    """Warning about samples of both sides, above 0 and in the order of time, whose ratio resembles that of the sample before."""
    found = serial(np.log(pair[1]) - np.log(pair[0]), repetitions=ORDERS, seed=seed)
    if found.p >= DRIFTS_BELOW:
        return []
    return bench.warnings_on("drifting", subject, correlation=fixed(found.correlation, 2), p=p_value(found.p))


class Entry(msgspec.Struct, frozen=True, kw_only=True):
    """A row before its verdicts; attributes as of :class:`slotmark.compare.results.rows.Row`."""

    metric: Metric
    part: str = ALL
    quantity: Quantity
    summaries: list[Summary | None]
    fitted: list[float | None] | None = None
    measured: list[Measured | None]
    warnings: list[Warning] = []


class Estimate(msgspec.Struct, frozen=True, kw_only=True):
    """The result of an estimator.

    Attributes:
        entries: In the order of the catalogue.
        repetitions: How many draws were made.
        plan: Computes what such runs could find, in any thread; it takes a while and needs no analysis.
        details: What else it has beyond rows.
        warnings: Warnings about the comparison.
        of_sides: Warnings about each side, one list per side; empty where there are none at all.
    """

    entries: list[Entry]
    repetitions: int = 0
    plan: Callable[[], Planned] | None = None
    details: list[Detail] = []
    warnings: list[Warning] = []
    of_sides: list[list[Warning]] = []


class Estimator(Protocol):
    """The contents of an estimator's file."""

    TRAITS: Traits

    def estimate(self, task: Task) -> Estimate:
        """Estimates every metric of a task.

        Raises:
            ComparisonError: The runs can't be compared in this way.
            RunError: A run is damaged.
        """
        ...

    def method(self, comparison: Comparison) -> str:
        """Returns how the metrics of a comparison were compared, in words."""
        ...
