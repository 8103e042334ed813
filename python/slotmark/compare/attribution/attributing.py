"""Attribution of a difference between two sides: the steps of metrics, changes by place, and the worst samples. docs/explain.md explains it."""

from collections.abc import Mapping, Sequence

import msgspec
import numpy as np

from slotmark.compare.attribution.block_changes import Costs, block_changes, costs_of
from slotmark.compare.attribution.changes import changes
from slotmark.compare.attribution.outlier_places import outlier_places
from slotmark.compare.attribution.stage_cells import Observed, cells_of, groups_of, observed
from slotmark.compare.attribution.worst_samples import steps_of, worst_samples
from slotmark.compare.results.attribution import Attribution, Explained, Step
from slotmark.errors import ComparisonError
from slotmark.metrics import Analysis, Changed, Metric, Split, side_by_side
from slotmark.statistics.between_runs import pooled
from slotmark.statistics.interval import Interval
from slotmark.statistics.mean_difference import Units, Work, mean_difference
from slotmark.statistics.rank_tests import holm

_TOLERANCE = 1e-9
"""By what share of a sample its steps may differ from it: what adding up floating-point numbers costs."""


def attributions(names: Sequence[str], analyses: Sequence[Sequence[Analysis]], confidence: float) -> list[Attribution]:
    """Returns the causes of differences, for each candidate, of runs of a bench whose metrics can be split.

    Args:
        names: The candidates'.
        analyses: Analyses of each run of the baseline, and of each candidate.
        confidence: Confidence of every interval, as a fraction.

    Raises:
        ComparisonError: A run's steps don't add up.
        RunError: A run is damaged.
    """
    entries = analyses[0][0].catalogue
    if entries.changed:
        return _attribution_of_costs(names, analyses, entries.changed, entries.metrics[0], confidence)
    every = [analysis for of_side in analyses for analysis in of_side]
    with side_by_side(every, in_memory=[split.relation for split in entries.splits]) as pool:
        of_runs = iter(list(pool.map(_run_steps, every)))
    baseline, *candidates = [[next(of_runs) for _ in of_side] for of_side in analyses]
    return [
        _attribution(name, (baseline, of_side), (analyses[0], of_candidate), confidence)
        for name, of_side, of_candidate in zip(names, candidates, analyses[1:], strict=True)
    ]


class _RunSteps(msgspec.Struct, frozen=True):
    """Steps and stages of one run.

    Attributes:
        steps: The samples of each metric that can be split.
        stages: By where they took place; none where the run has the steps of no sample.
        groups: Groups of places.
    """

    steps: "list[_Steps]"
    stages: dict[str, Observed]
    groups: dict[str, str]


def _run_steps(analysis: Analysis) -> _RunSteps:
    entries = analysis.catalogue
    steps = [_steps(split, analysis) for split in entries.splits]
    stage_cells = entries.stage_cells if any(one.values.size for one in steps) else None
    if stage_cells is None:
        return _RunSteps(steps, {}, {})
    return _RunSteps(steps, observed(stage_cells, analysis), groups_of(stage_cells, analysis))


def _attribution(
    of: str, sides: Sequence[Sequence[_RunSteps]], analyses: Sequence[Sequence[Analysis]], confidence: float
) -> Attribution:
    """Returns the causes of the differences between the baseline and one candidate."""
    entries = analyses[0][0].catalogue
    found = {
        split.metric: _explained(
            entries[split.metric], split.how, [[one.steps[place] for one in side] for side in sides], confidence
        )
        for place, split in enumerate(entries.splits)
    }
    known = any(found.values())
    stage_cells = entries.stage_cells if known else None
    groups = {place: group for side in sides for one in side for place, group in one.groups.items()}
    cells = cells_of([[one.stages for one in side] for side in sides], groups) if stage_cells else []
    return Attribution(
        of=of,
        explained=[one for one in found.values() if one],
        unknown=[entries[metric].name for metric, one in found.items() if not one],
        changes=changes(stage_cells, cells, confidence) if stage_cells else None,
        places=outlier_places(stage_cells, cells, confidence) if stage_cells else None,
        worst=[
            worst
            for timelines in [entries.timelines]
            if timelines and known
            for split in entries.splits
            if split.metric == timelines.metric
            for worst in worst_samples(timelines, split, analyses[1])
        ],
    )


class _Steps(msgspec.Struct, frozen=True):
    """The samples of one run that are split.

    Attributes:
        names: Names of the steps, in their order.
        values: Shape (steps, samples), in the metric's unit.
        of: How many samples there are.
        works: What each sample's unit was, as :class:`Units` has it.
    """

    names: list[str]
    values: np.ndarray
    of: int
    works: Sequence[Work]


def _explained(metric: Metric, how: str, sides: Sequence[Sequence[_Steps]], confidence: float) -> Explained | None:
    """The split of one metric; None where a run has no sample that can be split, or fewer than two."""
    if min(one.values.shape[1] for of_side in sides for one in of_side) < 2:
        return None
    names = list(dict.fromkeys(name for of_side in sides for one in of_side for name in one.names))
    whole, *parts = [_compared(sides, name, confidence) for name in (None, *names)]
    counts = (_count(sides[0]), _count(sides[1]))
    of = (sum(one.of for one in sides[0]), sum(one.of for one in sides[1]))
    return _split(metric, how, counts, of, whole, dict(zip(names, parts, strict=True)), confidence)


class _Compared(msgspec.Struct, frozen=True):
    baseline: float
    candidate: float
    delta: Interval
    p: float


def _split(
    metric: Metric,
    how: str,
    counts: tuple[int, int],
    of: tuple[int, int],
    whole: _Compared,
    parts: Mapping[str, _Compared],
    confidence: float,
) -> Explained:
    """A metric's difference with its steps and the first cause among them."""
    adjusted = holm([part.p for part in parts.values()])
    steps = [
        Step(name=name, baseline=part.baseline, candidate=part.candidate, delta=part.delta, p_adjusted=p)
        for (name, part), p in zip(parts.items(), adjusted, strict=True)
    ]
    telling = [step for step in steps if step.p_adjusted < 1 - confidence]
    return Explained(
        metric=metric,
        counts=counts,
        of=of,
        baseline=whole.baseline,
        candidate=whole.candidate,
        delta=whole.delta,
        how=how,
        steps=steps,
        first=first_cause(telling, whole.delta),
        shown=[step.name for step in telling],
    )


def _compared(sides: Sequence[Sequence[_Steps]], name: str | None, confidence: float) -> _Compared:
    """One step of both sides, each run with two samples or more; all steps together without a name."""
    ours, theirs = (_units(of_side, name) for of_side in sides)
    # Beside a single run the other side's runs show how much runs differ; without them chance would be that of its blocks.
    spread = (
        pooled([[run.on("identity") for run in side] for side in (ours, theirs)]) if min(map(len, sides)) == 1 else None
    )
    found = mean_difference(ours, theirs, confidence=confidence, spread=spread)
    assert found is not None
    return _Compared(found.mean_of(ours), found.mean_of(theirs), found.delta, found.p)


def _attribution_of_costs(
    names: Sequence[str], analyses: Sequence[Sequence[Analysis]], changed: Changed, metric: Metric, confidence: float
) -> list[Attribution]:
    """Returns the causes of differences of repeated costs: the parts of the cost, and the blocks."""
    baseline, *candidates = costs_of(changed, metric, analyses)
    return [
        Attribution(
            of=name,
            explained=[one for one in [_explained_costs(metric, changed.how, (baseline, costs), confidence)] if one],
            unknown=[],
            changes=None,
            places=None,
            worst=[],
            blocks=block_changes(metric, (baseline, costs), (analyses[0], side)),
        )
        for name, costs, side in zip(names, candidates, analyses[1:], strict=True)
    ]


def _explained_costs(metric: Metric, how: str, sides: tuple[Costs, Costs], confidence: float) -> Explained | None:
    """The mean cost per block, split into its parts; None where no part is recorded, or a side has one process."""
    ours, theirs = sides
    if not ours.parts or min(len(one.whole.values) for one in sides) < 2:
        return None
    blocks = ours.whole.keys.size
    return _split(
        metric,
        how,
        (blocks, blocks),
        (blocks, blocks),
        _over_processes(ours.whole.values, theirs.whole.values, confidence),
        {name: _over_processes(ours.parts[name], theirs.parts[name], confidence) for name in ours.parts},
        confidence,
    )


def _over_processes(ours: np.ndarray, theirs: np.ndarray, confidence: float) -> _Compared:
    """The difference of the means per block, over processes; shape (processes, blocks) each."""
    sides = [
        [Units(np.array([mean]), np.ones(1), ordered=False) for mean in values.mean(axis=1)]
        for values in (ours, theirs)
    ]
    found = mean_difference(*sides, confidence=confidence)
    assert found is not None
    return _Compared(float(ours.mean()), float(theirs.mean()), found.delta, found.p)


def first_cause(telling: Sequence[Step], whole: Interval) -> str:
    """The largest of the steps that differ beyond chance in the direction of the whole; empty where none does."""
    with_it = [step for step in telling if step.delta.estimate * whole.estimate > 0]
    return max(with_it, key=lambda step: abs(step.delta.estimate)).name if with_it else ""


def _steps(split: Split, analysis: Analysis) -> _Steps:
    """The steps of a run's samples. ComparisonError where they don't add up to the samples."""
    table = steps_of(split, analysis)
    metric = analysis.catalogue[split.metric]
    whole = analysis.samples(split.metric)
    keys = {key: value for part in whole.parts for (key,), value in whole.of(part).items()}
    stages = table.group_by("step").aggregate([("stage", "max")]).sort_by("step")
    steps, keyed = stages["step"].to_numpy(), table["key"].combine_chunks().dictionary_encode()
    columns, shape = keyed.dictionary.to_pylist(), (len(steps), len(keyed.dictionary))
    places = np.searchsorted(steps, table["step"].to_numpy()) * shape[1] + keyed.indices.to_numpy()
    values = np.bincount(places, table["value"].to_numpy(), shape[0] * shape[1]).reshape(shape)
    expected = np.array([keys.get(key, np.nan) for key in columns])
    apart = np.abs(values.sum(axis=0) - expected)
    if not (apart <= _TOLERANCE * np.maximum(1.0, np.abs(expected))).all():
        raise ComparisonError(
            f"{analysis.run.place}: the steps of '{metric.id}' don't add up to it. The run's tables were changed by hand: make it again."
        )
    works = analysis.works(metric.unit_of_chance)
    return _Steps(stages["stage_max"].to_pylist(), values, len(keys), [works[key] for key in columns if key in works])


def _units(side: Sequence[_Steps], name: str | None) -> list[Units]:
    """One step of each run's samples, 0 where a run doesn't have it; all steps together without a name."""
    values = [
        one.values.sum(axis=0)
        if name is None
        else one.values[one.names.index(name)]
        if name in one.names
        else np.zeros(one.values.shape[1])
        for one in side
    ]
    return [Units(of_run, np.ones(of_run.size), works=one.works) for of_run, one in zip(values, side, strict=True)]


def _count(side: Sequence[_Steps]) -> int:
    return sum(one.values.shape[1] for one in side)
