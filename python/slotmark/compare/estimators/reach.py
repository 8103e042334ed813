"""The differences that comparisons of runs like these could find, from the variation of their means. docs/decision.md explains it."""

from collections.abc import Sequence

import msgspec
import numpy as np

from slotmark.compare.margins import margin_of
from slotmark.compare.results.details import Planned, Reach
from slotmark.compare.results.rows import Design
from slotmark.compare.run_to_run.prior import Prior, source_of
from slotmark.metrics import Metric
from slotmark.statistics.between_runs import Spread, combined, pooled
from slotmark.statistics.dependence import LEAST_EFFECTIVE, LEAST_VALUES
from slotmark.statistics.interval import BOUNDS
from slotmark.statistics.mean_difference import Units
from slotmark.statistics.planning import detectable_log, detectable_share, units_needed
from slotmark.statistics.rank_tests import error_share
from slotmark.statistics.student import satterthwaite
from slotmark.warnings import ENOUGH_RUNS

RUNS = (1, 2, 3, 5)
"""Numbers of runs per side that a plan shows."""


class Chance(msgspec.Struct, frozen=True, kw_only=True):
    """The variation of the difference of two builds that one unit of a design shows in one metric: a run on each side, or a round.

    Attributes:
        design: Which.
        metric: With its margin.
        part: Which samples.
        mean: Of the metric, above 0.
        spread: The variance of the difference, as a share of the mean.
        before: Degrees of freedom that a comparison has beside those of its own units, as those of a table; infinite of what a policy assumes, which counts for a single
            run per side alone.
        hosts: Of mixed rounds: how many swapped.
        at_least: Whether the spread holds only what varies within a run.
    """

    design: Design
    metric: Metric
    part: str
    mean: float
    spread: Spread
    before: float = 0.0
    hosts: int = 0
    at_least: bool = False

    @property
    def margin(self) -> float:
        """The margin in force, as a share."""
        return margin_of(self.metric, self.mean)

    def degrees(self, units: int) -> float:
        """Degrees of freedom that so many units have."""
        match self.design:
            case "runs":
                return 2.0 * (units - 1)
            case "mixed rounds":
                # Levels of hosts in rounds, less those of hosts, of rounds but one, and the effect.
                return float((self.hosts - 1) * (units - 1) - 1)
            case _:
                return units - 1.0

    def known_before(self, units: int) -> float:
        """Degrees of freedom from before that a comparison of so many units has."""
        return 0.0 if units > 1 and np.isinf(self.before) else self.before

    def to_ship(self) -> int | None:
        """Returns the number of units that show an unchanged metric to be not worse beyond its margin, four times in five; None where no number within reach does."""
        return self._needed(self.margin, 1 - BOUNDS, ENOUGH_RUNS) if self.margin > 0 else None

    def to_find(self, change: float, alpha: float) -> int | None:
        """Returns the number of units that find a difference, a share of the mean, four times in five at a level of the test; None where no number within reach does."""
        return self._needed(change, alpha, ENOUGH_RUNS)

    def _needed(self, share: float, alpha: float, fewest: int) -> int | None:
        # Two runs of each side are enough where they show how much runs differ; two rounds are conditional. Hosts are swapped back in every second round.
        if self.design == "runs":
            fewest = 1 if self.before else 2
        mixed = self.design == "mixed rounds"

        def found(before: float, first: int) -> int | None:
            return units_needed(
                float(np.log1p(share)),
                float(np.sqrt(self.spread.variance)),
                self.degrees,
                self.spread.degrees,
                alpha,
                before=before,
                first=first + first % 2 if mixed else first,
                step=2 if mixed else 1,
            )

        alone = found(self.before, fewest)
        return alone if alone == 1 or not np.isinf(self.before) else found(self.known_before(2), 2)


class Variation(msgspec.Struct, frozen=True, kw_only=True):
    """The variation of a run's mean, for one metric in one part; variances are of the mean's share.

    Attributes:
        metric: With its margin.
        part: Which samples.
        mean: Over all runs, above 0.
        over: What varies within a run, in the plural.
        units: How many a run has, on average.
        within: By what varies within runs; None where runs don't show it.
        degrees_within: Degrees of freedom of that from a single run; 0 where runs don't show it.
        between: By all that varies, at least what varies within runs; None where neither runs nor earlier knowledge shows it.
        before: Degrees of freedom of what was known before; 0 where nothing was.
        source: From what ``between`` is known, as of a :class:`~slotmark.compare.results.rows.Basis`.
        repeated: How many runs there are on sides with several.
    """

    metric: Metric
    part: str
    mean: float
    over: str
    units: float
    within: Spread | None
    degrees_within: float
    between: Spread | None
    before: float = 0.0
    source: str = ""
    repeated: int

    @property
    def chance(self) -> Chance | None:
        """The variation of the difference of two runs, as far as that is known."""
        known = self.between or self.within
        if known is None:
            return None
        return Chance(
            design="runs",
            metric=self.metric,
            part=self.part,
            mean=self.mean,
            spread=Spread(2 * known.variance, known.degrees),
            before=self.before,
            at_least=self.between is None,
        )


def variation(
    metric: Metric, part: str, over: str, groups: Sequence[Sequence[Units]], prior: Prior | None = None
) -> Variation | None:
    """Returns the variation of a run's mean; None where it is 0 or below.

    Args:
        metric: Which.
        part: Which of its samples.
        over: What its units are, in the plural.
        groups: One per side, one or more runs each, that differ by chance alone. Units that don't follow each other have works only where those of one
            name are the same machines in all runs.
        prior: What was known before of how much runs of one build differ.
    """
    runs = [run for group in groups for run in group]
    mean = float(np.mean([run.mean for run in runs]))
    if mean <= 0 or min(run.mean for run in runs) <= 0:
        return None
    within, degrees_within = _within(runs)
    own = pooled([[run.on("log") for run in group] for group in groups])
    earlier = prior.of(metric, part, level=mean, own=own is not None) if prior else None
    before = earlier and _of_share(earlier[0], metric, mean)
    between = combined(own, before)
    if between and within and within.variance > between.variance:
        between = within
    return Variation(
        metric=metric,
        part=part,
        mean=mean,
        over=over,
        units=float(np.mean([run.sums.size for run in runs])),
        within=within,
        degrees_within=degrees_within,
        between=between,
        before=before.degrees if before else 0.0,
        source=source_of(own is not None, earlier),
        repeated=sum(len(group) for group in groups if len(group) > 1),
    )


def _of_share(spread: Spread, metric: Metric, mean: float) -> Spread:
    """A spread on the metric's scale as one of the mean's share."""
    return spread if metric.run_scale == "log" else Spread(spread.variance / mean**2, spread.degrees)


def _within(runs: Sequence[Units]) -> tuple[Spread | None, float]:
    """Returns the variation within runs, averaged over them, and the degrees of freedom that a single run gives it."""
    if min(run.sums.size for run in runs) < (LEAST_VALUES if runs[0].ordered else 2):
        return None, 0.0
    if len(runs) > 1 and not runs[0].ordered and runs[0].works and len({frozenset(run.works) for run in runs}) == 1:
        return _of_the_same(runs)
    chances = [run.chance() for run in runs]
    if runs[0].ordered and min(one.effective for one in chances) < LEAST_EFFECTIVE:
        return None, 0.0
    parts = [(one.variance / run.mean**2 / len(runs), one.degrees) for run, one in zip(runs, chances, strict=True)]
    variance = sum(part for part, _ in parts)
    return Spread(variance, satterthwaite(variance, parts)), float(np.mean([one.degrees for one in chances]))


def _of_the_same(runs: Sequence[Units]) -> tuple[Spread, float]:
    """Returns the variation within runs over the same hosts, which comparisons match: how hosts differ in their level in all runs isn't in it."""
    shares = np.array([(run.residuals / run.mean)[np.argsort([str(work) for work in run.works])] for run in runs])
    apart = shares - shares.mean(axis=0)
    count, hosts = apart.shape
    degrees = float((count - 1) * (hosts - 1))
    # A matched difference has as many degrees of freedom as there are hosts, less one, for both sides together.
    return Spread(hosts * float((apart**2).sum()) / degrees, degrees), (hosts - 1) / 2


class Tests(msgspec.Struct, frozen=True):
    """The tests of a comparison.

    Attributes:
        count: Over how many p-values are adjusted.
        deciding: How many of them are of decisive metrics.
        confidence: Confidence of verdicts, as a fraction.
    """

    count: int
    deciding: int
    confidence: float

    def level(self, metric: Metric) -> float:
        """Returns the bound that a metric's p-value must be below before it is adjusted, where nothing else is found."""
        return (1 - self.confidence) * error_share(self.count, self.deciding, decides=metric.rank == "decisive")


def planned(variations: Sequence[Variation], tests: Tests) -> Planned:
    """Returns the differences that comparisons of such runs could find.

    Args:
        variations: One per metric and part.
        tests: Over which p-values are adjusted.
    """
    return Planned(
        runs=list(RUNS),
        tests=tests.count,
        repeated=max((one.repeated for one in variations), default=0),
        reaches=[_reach(one, tests.level(one.metric)) for one in variations],
    )


def _reach(found: Variation, alpha: float) -> Reach:
    chance = found.chance
    return Reach(
        metric=found.metric,
        part=found.part,
        mean=found.mean,
        over=found.over,
        units=found.units,
        within=None if found.within is None else float(np.sqrt(found.within.variance)),
        between=None if found.between is None else float(np.sqrt(found.between.variance)),
        source=found.source,
        smallest=[smallest(found, runs, alpha) for runs in RUNS],
        margin=margin_of(found.metric, found.mean),
        to_ship=chance and chance.to_ship(),
    )


def smallest(found: Variation, runs: int, alpha: float) -> float | None:
    """The smallest difference that would be found four times in five, as a share of the mean; None where it is unknown.

    Args:
        found: How much a run's mean varies.
        runs: Per side. Of one the interval is over what varies within it, as in a comparison, where nothing was known before.
        alpha: The level of the test.
    """
    if runs == 1 and not found.before:
        return _alone(found, alpha)
    if (chance := found.chance) is None:
        return None
    spread = chance.spread
    error = float(np.sqrt(spread.variance / runs))
    log = detectable_log(error, chance.degrees(runs), spread.degrees, alpha, before=chance.known_before(runs))
    with np.errstate(over="ignore"):
        share = float(np.expm1(log))
    return share if np.isfinite(share) else None


def _alone(found: Variation, alpha: float) -> float | None:
    """The smallest difference that two single runs show, by what varies within them; it then holds for these two."""
    if found.within is None:
        return None
    error = float(np.sqrt(2 * found.within.variance))
    share = detectable_share(error, found.degrees_within, found.within.degrees, alpha)
    return share if np.isfinite(share) else None


def units_for(found: Variation, change: float, alpha: float) -> int | None:
    """Returns the number of units within one run per side that find a difference, by what varies within them; None where nothing says so.

    Args:
        found: How much a run's mean varies.
        change: The difference as a share of the mean, above 0.
        alpha: The level of the test.
    """
    alone = _alone(found, alpha)
    return None if alone is None else int(np.ceil(found.units * (alone / change) ** 2))
