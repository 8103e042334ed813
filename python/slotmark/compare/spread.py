"""Measuring how much runs of one build differ: from runs of one or more builds to a table. docs/how-many-runs.md explains it."""

from collections.abc import Sequence
from contextlib import ExitStack

import numpy as np

from slotmark.compare.estimators.means import runs_by_part
from slotmark.compare.matching.paired_runs import without_spoilt
from slotmark.compare.matching.sides import builds, name_sides, refuse_unlike_runs
from slotmark.compare.results.spread import CONFIDENCE, Measured
from slotmark.compare.run_to_run.spread_table import MetricSpread, SpreadTable, TableRun
from slotmark.compare.traits import traits_of
from slotmark.errors import ComparisonError
from slotmark.metrics import Filter, Metric, analyses_of, catalogue
from slotmark.run import Run
from slotmark.statistics.between_runs import Spread, pooled
from slotmark.statistics.planning import deviation_range
from slotmark.versions import slotmark_version
from slotmark.warnings import without_others


def spread(groups: Sequence[Sequence[Run]], name: str, *, filters: Sequence[Filter] | None = None) -> Measured:
    """Returns how much the means of runs of one build differ, pooled over builds, which may differ.

    Args:
        groups: The runs of each build; at least one has two. Runs of one group that are of other versions or commits are other builds. Runs that aren't like the
            others of their build, as one in which a node died, are left out with a warning.
        name: What to call the table: the cluster or the machine.
        filters: What of each run is analysed; None for what each run's own profile says.

    Raises:
        ComparisonError: No build has two runs, the runs did different work or are one run, or none of their metrics is compared by means of runs.
        RunError: A run is damaged.
    """
    looked = [without_spoilt(group) for group in groups]
    left_out = [one for _, of_group in looked for one in of_group]
    of_targets, groups = groups, [of_build for whole, _ in looked for of_build in builds(whole)]
    if not any(len(group) > 1 for group in groups):
        reasons = f" {without_others(left_out)}" if left_out else ""
        raise ComparisonError(
            f"No build has two runs, so nothing shows how much runs differ.{reasons} Name A1,A2 for two runs of one build."
        )
    refuse_unlike_runs(of_targets, simulated_twins=False)
    sides = name_sides(groups)
    manifest = sides[0].manifest
    entries = catalogue(manifest.bench)
    metrics = [one for one in entries.metrics if traits_of(one.estimator).means_of_runs and one.tested]
    if not metrics:
        instead = f" `{entries.noise.measure}` shows what a machine can't find." if entries.noise else ""
        raise ComparisonError(f"Metrics of bench '{manifest.bench}' aren't compared by means of runs.{instead}")
    found: list[MetricSpread] = []
    same: list[str] = []
    with ExitStack() as stack:
        analyses = analyses_of(stack, groups, filters)
        for metric in metrics:
            for part, runs in runs_by_part(metric, analyses).items():
                pool = pooled(runs)
                if pool is None:
                    continue
                if pool.variance > 0:
                    found.append(entry_of(metric, part, pool))
                elif not part:
                    same.append(metric.id)
    if not found:
        raise ComparisonError("These runs have no metric in which two runs of one build differ. Name other runs.")
    counts = [len(group) for group in groups if len(group) > 1]
    runs = f"{sum(counts)} runs of {len(counts)} build{'s' if len(counts) > 1 else ''}"
    table = SpreadTable(
        name=name,
        bench=manifest.bench,
        known_from=runs,
        slotmark=slotmark_version(),
        machine=manifest.machine.hostname_hash if manifest.machine else "",
        workload=_in_common([one.workload for side in sides for one in side.manifests]),
        same=same,
        run=[TableRun(id=one.id, build=side.name, digest=one.content) for side in sides for one in side.manifests],
        metric=found,
    )
    return Measured(table, sides, left_out)


def entry_of(metric: Metric, part: str, variation: Spread) -> MetricSpread:
    """Returns a table's entry for a metric: the standard deviation with the interval that its variance's chi-squared distribution gives it."""
    interval = deviation_range(float(np.sqrt(variation.variance)), variation.degrees, CONFIDENCE)
    return MetricSpread(
        id=metric.id,
        part=part,
        unit=metric.unit,
        scale=metric.run_scale,
        sd=interval.estimate,
        within=float(np.sqrt(variation.within)),
        degrees=variation.degrees,
        low=interval.low,
        high=interval.high,
    )


def _in_common(facts: Sequence[dict[str, str]]) -> dict[str, str]:
    """The facts that all runs have and that are the same in all."""
    return {name: value for name, value in facts[0].items() if all(one.get(name) == value for one in facts)}
