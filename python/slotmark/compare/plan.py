"""Planning: from runs of one target to the differences that a comparison of such runs could find. docs/decision.md explains it."""

from collections.abc import Mapping, Sequence
from contextlib import ExitStack

import msgspec

from slotmark.compare.compare import analysed, with_warnings
from slotmark.compare.estimators.means import variations_of
from slotmark.compare.estimators.reach import Tests, Variation, planned, runs_for, units_for
from slotmark.compare.result import Planned, Side
from slotmark.compare.sides import name_sides, refuse_unlike_runs
from slotmark.errors import ComparisonError, did_you_mean
from slotmark.metrics import Analysis, Filter, Metric, catalogue
from slotmark.run import Run


class Wanted(msgspec.Struct, frozen=True, kw_only=True):
    """The size that a wanted difference takes.

    Attributes:
        metric: The metric.
        part: In which part.
        change: The difference, as a share of the mean.
        runs: Runs per side, as long as these, for it to be found four times in five; None where no number within reach is enough.
        over: What varies within a run: ``blocks``, ``slots`` or ``hosts``.
        units: How many of them one run per side needs for that, which then holds for those two runs only; None where it is unknown.
    """

    metric: Metric
    part: str
    change: float
    runs: int | None
    over: str
    units: int | None


class Plan(msgspec.Struct, frozen=True, kw_only=True):
    """The differences that a comparison of runs like these could find.

    Attributes:
        bench: The bench of all runs.
        side: The runs, with their warnings.
        planned: Metric by metric.
        wanted: What the asked differences take.
        confidence: Confidence of verdicts, as a fraction.
    """

    bench: str
    side: Side
    planned: Planned
    wanted: list[Wanted]
    confidence: float


def plan(
    runs: Sequence[Run],
    *,
    detect: Mapping[str, float] | None = None,
    filters: Sequence[Filter] | None = None,
    confidence: float = 0.95,
) -> Plan:
    """Returns the differences that a comparison could find whose sides have one or more runs such as these.

    Args:
        runs: One or more of one target, that differ by chance alone.
        detect: Differences to be found, by metric id, as shares of the mean.
        filters: What of each run is analysed; None for what each run's own profile says.
        confidence: Confidence of verdicts, as a fraction.

    Raises:
        ComparisonError: The runs are not of one target, none of their metrics is compared by means of runs, or a difference is asked
            of an unknown metric or isn't above 0.
        RunError: A run is damaged.
    """
    if not runs:
        raise ComparisonError("A plan needs at least one run.")
    (side,) = name_sides([runs])
    entries = catalogue(side.manifest.bench)
    refuse_unlike_runs([runs])
    metrics = [metric for metric in entries.metrics if metric.estimator == "means" and metric.tested]
    if not metrics:
        raise ComparisonError(
            f"Metrics of bench '{side.manifest.bench}' aren't compared by means of runs, so there is nothing to plan here. "
            "`slotmark compare` of two of its runs shows how many more are needed."
        )
    wanted = dict(detect or {})
    _refuse_unknown(wanted, metrics)
    with ExitStack() as stack:
        analyses = [stack.enter_context(Analysis(run, filters=filters)) for run in runs]
        variations = variations_of(metrics, analyses)
        of_runs = [warning for analysis in analyses for warning in analysis.warnings()]
        (side,) = with_warnings(analysed([side], [analyses]), [of_runs], [])
    _refuse_unrecorded(wanted, variations, side.filters)
    deciding = sum(one.metric.rank == "decisive" for one in variations)
    tests = Tests(len(variations), deciding, confidence)
    return Plan(
        bench=side.manifest.bench,
        side=side,
        planned=planned(variations, tests),
        wanted=[
            Wanted(
                metric=one.metric,
                part=one.part,
                change=wanted[one.metric.id],
                runs=runs_for(one, wanted[one.metric.id], tests.level(one.metric)),
                over=one.over,
                units=units_for(one, wanted[one.metric.id], tests.level(one.metric)),
            )
            for one in variations
            if one.metric.id in wanted
        ],
        confidence=confidence,
    )


def _refuse_unknown(wanted: Mapping[str, float], metrics: Sequence[Metric]) -> None:
    known = [metric.id for metric in metrics]
    for name, change in wanted.items():
        if name not in known:
            raise ComparisonError(
                f"'{name}' is no metric that is compared.{did_you_mean(name, known)} Compared are: {', '.join(known)}."
            )
        if not change > 0:
            raise ComparisonError(
                f"The difference of '{name}' to find is {change}, but it's a share above 0. Try 0.02."
            )


def _refuse_unrecorded(wanted: Mapping[str, float], variations: Sequence[Variation], filters: Sequence[str]) -> None:
    there = {one.metric.id for one in variations}
    passed = f" in what passes {', '.join(filters)}" if filters else ""
    for name in wanted:
        if name not in there:
            raise ComparisonError(
                f"These runs don't record '{name}'{passed}, or its mean is 0. Ask of another metric"
                + (", or choose what is analysed with --filter." if filters else ".")
            )
