"""Growth: how metrics of some targets change with the size of what their runs worked on, as a set of unspent outputs."""

from collections.abc import Mapping, Sequence
from contextlib import ExitStack

import numpy as np

from slotmark.compare.compare import analysed, warnings_of, with_warnings
from slotmark.compare.matching.sides import name_sides, refuse_other_bench
from slotmark.compare.result import Side
from slotmark.compare.results.growth import Curve, Growth, Level
from slotmark.errors import ComparisonError
from slotmark.metrics import Analysis, Grows, Samples, analyses_of, catalogue
from slotmark.run import Run


def growth(runs: Sequence[Run]) -> Growth:
    """Returns the changes of metrics with the size of the runs' work; processes of one target at one size are put together.

    Args:
        runs: Runs of one or more targets, at two sizes or more.

    Raises:
        ComparisonError: The runs are of other benches or did other work than each other, their bench has no size, a run doesn't record
            its own, or all have one size.
        RunError: A run is damaged.
    """
    sides = name_sides([[run] for run in runs])
    entries = catalogue(sides[0].manifest.bench)
    grows = entries.grows
    if grows is None:
        raise ComparisonError(
            f"Runs of bench '{entries.bench}' have no size along which metrics could grow. `slotmark compare` shows what differs between two."
        )
    for side in sides[1:]:
        _refuse_other_work(grows, sides[0], side)
    targets = _targets(runs)
    means: dict[tuple[str, str, str], dict[int, list[float]]] = {}
    sizes: set[int] = set()
    with ExitStack() as stack:
        analyses = [one for (one,) in analyses_of(stack, [[run] for run in runs], None)]
        for target, run, analysis in zip(targets, runs, analyses, strict=True):
            size = _size(grows, run, analysis)
            sizes.add(size)
            for metric in entries.metrics:
                samples = analysis.samples(metric.id)
                for part in samples.parts:
                    of_target = means.setdefault((metric.id, part, target), {})
                    of_target.setdefault(size, []).extend(_means(samples, part, grows.process))
        alone = [[one] for one in analyses]
        shown = with_warnings(analysed(sides, alone), warnings_of(alone), [], sides[0].name)
    if len(sizes) < 2:
        raise ComparisonError(f"All runs have {sizes.pop():,} {grows.name}: nothing grows. {grows.more}")
    order = {metric.id: place for place, metric in enumerate(entries.metrics)}
    names = list(dict.fromkeys(targets))
    return Growth(
        bench=entries.bench,
        along=grows.name,
        targets=names,
        sizes=sorted(sizes),
        curves=[
            Curve(metric=entries[metric], part=part, target=target, levels=_levels(by_size))
            for (metric, part, target), by_size in sorted(
                means.items(), key=lambda one: (order[one[0][0]], one[0][1], names.index(one[0][2]))
            )
        ],
        sides=shown,
    )


def _targets(runs: Sequence[Run]) -> list[str]:
    """The target of each run, with its version where one name has several."""
    versions: dict[str, set[str]] = {}
    for run in runs:
        versions.setdefault(run.manifest.target.name, set()).add(run.manifest.target.version)
    return [
        f"{target.name} {target.version}" if len(versions[target.name]) > 1 else target.name
        for target in (run.manifest.target for run in runs)
    ]


def _refuse_other_work(grows: Grows, first: Side, other: Side) -> None:
    refuse_other_bench(first, other)
    ours, theirs = first.manifest, other.manifest
    for fact in grows.same:
        if ours.workload.get(fact) != theirs.workload.get(fact):
            raise ComparisonError(
                f"{first.name} and {other.name} differ in more than their {grows.name}: '{fact}' is "
                f"'{ours.workload.get(fact, 'not recorded')}' and '{theirs.workload.get(fact, 'not recorded')}'. Measure both alike."
            )


def _size(grows: Grows, run: Run, analysis: Analysis) -> int:
    found = analysis.query(f'SELECT DISTINCT {grows.value} AS size FROM "{grows.relation}"')["size"].to_pylist()
    if len(found) != 1 or not isinstance(found[0], int):
        count = "several numbers" if len(found) > 1 else "no number"
        raise ComparisonError(f"{run.place} has {count} for {grows.name}. {grows.remedy}")
    return found[0]


def _means(samples: Samples, part: str, process: str) -> list[float]:
    """The mean of each process, by the column that numbers them; of the run where the metric's grain lacks it."""
    values = samples.values(part)
    if process not in samples.metric.grain:
        return [float(np.mean(values))]
    codes = samples.codes(part, process)
    return (np.bincount(codes, values) / np.bincount(codes)).tolist()


def _levels(by_size: Mapping[int, Sequence[float]]) -> list[Level]:
    return [
        Level(size=size, processes=len(means), mean=float(np.mean(means)), low=min(means), high=max(means))
        for size, means in sorted(by_size.items())
    ]
