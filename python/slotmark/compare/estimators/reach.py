"""The differences that comparisons of runs like these could find, from the variation of their means. docs/decision.md explains it."""

from collections.abc import Sequence

import msgspec
import numpy as np

from slotmark.compare.margins import least_that_matters
from slotmark.compare.result import Planned, Reach
from slotmark.metrics import Metric
from slotmark.statistics.between_runs import Spread, pooled
from slotmark.statistics.dependence import LEAST_EFFECTIVE, LEAST_VALUES
from slotmark.statistics.interval import BOUNDS
from slotmark.statistics.mean_difference import Units
from slotmark.statistics.planning import MOST_RUNS, detectable_share, least, size_needed
from slotmark.statistics.rank_tests import error_share
from slotmark.statistics.student import satterthwaite

RUNS = (1, 2, 3, 5)
"""Numbers of runs per side that a plan shows."""


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
        between: By all that varies, at least what varies within runs; None with one run per side.
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
    repeated: int

    @property
    def known(self) -> Spread | None:
        """As much of the variance as is known."""
        return self.between or self.within


def variation(metric: Metric, part: str, over: str, groups: Sequence[Sequence[Units]]) -> Variation | None:
    """Returns the variation of a run's mean; None where it is 0 or below.

    Args:
        metric: Which.
        part: Which of its samples.
        over: What its units are, in the plural.
        groups: One per side, one or more runs each, that differ by chance alone. Units that don't follow each other have works only where those of one
            name are the same machines in all runs.
    """
    runs = [run for group in groups for run in group]
    mean = float(np.mean([run.mean for run in runs]))
    if mean <= 0 or min(run.mean for run in runs) <= 0:
        return None
    within, degrees_within = _within(runs)
    between = pooled([[run.on("log") for run in group] for group in groups])
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
        repeated=sum(len(group) for group in groups if len(group) > 1),
    )


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
    metric = found.metric
    least = least_that_matters(metric, found.mean)
    margin = metric.margin if least is None else least / found.mean
    return Reach(
        metric=metric,
        part=found.part,
        mean=found.mean,
        over=found.over,
        units=found.units,
        within=None if found.within is None else float(np.sqrt(found.within.variance)),
        between=None if found.between is None else float(np.sqrt(found.between.variance)),
        smallest=[smallest(found, runs, alpha) for runs in RUNS],
        margin=margin,
        to_ship=_to_ship(found, margin),
    )


def smallest(found: Variation, runs: int, alpha: float) -> float | None:
    """The smallest difference that would be found four times in five, as a share of the mean; None where it is unknown.

    Args:
        found: How much a run's mean varies.
        runs: Per side. Of one the interval is over what varies within it, as in a comparison.
        alpha: The level of the test.
    """
    known = found.within if runs == 1 else found.known
    if known is None:
        return None
    degrees = found.degrees_within if runs == 1 else runs - 1.0
    share = detectable_share(float(np.sqrt(2 * known.variance / runs)), degrees, known.degrees, alpha, pooled=runs > 1)
    return share if np.isfinite(share) else None


def runs_for(found: Variation, change: float, alpha: float) -> int | None:
    """Returns the runs per side that a difference needs to be found four times in five; None where no number within reach is enough.

    Args:
        found: How much a run's mean varies.
        change: The difference as a share of the mean, above 0.
        alpha: The level of the test.
    """

    def enough(runs: int) -> bool:
        found_from = smallest(found, runs, alpha)
        return found_from is not None and found_from <= change

    return least(enough, MOST_RUNS)


def units_for(found: Variation, change: float, alpha: float) -> int | None:
    """Returns the units of one run per side that this needs, by the variation within a run; arguments as for :func:`runs_for`."""
    alone = smallest(found, 1, alpha)
    return None if alone is None else int(np.ceil(found.units * (alone / change) ** 2))


def _to_ship(found: Variation, margin: float) -> int | None:
    if found.known is None or margin <= 0:
        return None
    error = float(np.sqrt(2 * found.known.variance))
    return size_needed(margin, error, 1, degrees=lambda runs: 2.0 * (runs - 1), alpha=(1 - BOUNDS) / 2)
