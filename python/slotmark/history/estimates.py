"""From a run to its estimates: one a metric and part, with the interval of what varies within the run."""

import msgspec
import numpy as np

from slotmark.cleaning import one_name
from slotmark.compare.matching.ends import ended_with
from slotmark.compare.matching.paired_runs import spoilt
from slotmark.compare.matching.side_units import is_recorded, side_of_runs
from slotmark.compare.traits import traits_of
from slotmark.metrics import AllSamples, Analysis, LongSamples, Metric, catalogue
from slotmark.run import Run
from slotmark.statistics.between_runs import RunMean, Scale
from slotmark.statistics.interval import Interval
from slotmark.statistics.location import median_interval
from slotmark.statistics.mean_difference import from_scale
from slotmark.statistics.student import student

CONFIDENCE = 0.95


class Estimate(msgspec.Struct, frozen=True, kw_only=True):
    """A metric of one run in one part.

    Attributes:
        metric: Its id.
        part: Which of its samples.
        unit: Its unit.
        scale: The scale on which runs are compared.
        level: The run's level on that scale.
        variance: Variance of the level by what varies within the run; 0 where that isn't known.
        estimate: The level, in the unit.
        low: Lower end of its interval, of what varies within the run.
        high: Upper end.
        samples: How many samples there are.
    """

    metric: str
    part: str
    unit: str
    scale: Scale
    level: float
    variance: float
    estimate: float
    low: float
    high: float
    samples: int


def estimates_of(run: Run, only: str = "") -> list[Estimate]:
    """The estimates of a run, in the order of the catalogue and of parts; none of one that can't be compared, as where a node died. RunError where it is damaged.

    Args:
        run: The run.
        only: Id of the only metric that is wanted, which its bench has; empty for all.
    """
    found: list[Estimate] = []
    if spoilt(run):
        return found
    with Analysis(run) as analysis:
        metrics = [analysis.catalogue[only]] if only else analysis.catalogue.metrics
        for metric, samples in zip(metrics, analysis.each_samples([one.id for one in metrics]), strict=True):
            found += [_estimate(metric, samples, part) for part in sorted(samples.parts) if is_recorded(samples, part)]
    return [one for one in found if np.isfinite((one.level, one.variance, one.low, one.high)).all()]


def ends_of(run: Run) -> dict[str, str]:
    """Returns what the processes of a run ended with, by what it is in words; empty where its bench keeps nothing of it. RunError where it is damaged."""
    ends = catalogue(run.manifest.bench).ends
    if ends is None:
        return {}
    found: dict[str, str] = {}
    with Analysis(run) as analysis:
        for what, value in ended_with(ends, analysis):
            found[what] = one_name(f"{found[what]}, {value}" if what in found else value)
    return found


def _estimate(metric: Metric, samples: AllSamples, part: str) -> Estimate:
    """The median where samples are repeated inside the run, as rounds are; else the mean."""
    in_session = any(unit.in_session for unit in traits_of(metric.estimator).units)
    if in_session and not isinstance(samples, LongSamples):
        values = samples.values(part)
        interval = median_interval(values, CONFIDENCE)
        scale: Scale = metric.run_scale if values.min() > 0 else "identity"
        reach = _on(interval.high, scale) - _on(interval.low, scale)
        normal = float(student(0.0, 1.0, np.inf, CONFIDENCE).interval.high)
        level = RunMean(_on(interval.estimate, scale), (reach / 2 / normal) ** 2)
        count = values.size
    else:
        (units,) = side_of_runs([(samples, {})], part).runs
        scale = metric.run_scale if units.mean > 0 else "identity"
        level = units.on(scale)
        ends = student(level.level, float(np.sqrt(level.within)), level.degrees, CONFIDENCE).interval
        interval = Interval(*(from_scale(one, scale) for one in (ends.estimate, ends.low, ends.high)))
        count = int(units.counts.sum())
    return Estimate(
        metric=metric.id,
        part=part,
        unit=metric.unit,
        scale=scale,
        level=level.level,
        variance=level.within,
        estimate=interval.estimate,
        low=interval.low,
        high=interval.high,
        samples=count,
    )


def _on(value: float, scale: Scale) -> float:
    return float(np.log(value)) if scale == "log" else value
