"""Where a difference comes from: the steps of which a metric's samples are made, compared one by one. docs/explain.md explains it."""

from collections.abc import Sequence
from contextlib import ExitStack

import msgspec
import numpy as np

from slotmark.compare.compare import analysed, doubted
from slotmark.compare.places import Places, places_apart
from slotmark.compare.result import Side
from slotmark.compare.sides import name_sides, refuse_unlike_runs
from slotmark.errors import ComparisonError
from slotmark.metrics import Analysis, Filter, Metric, Split, catalogue
from slotmark.run import Run
from slotmark.statistics.interval import Interval
from slotmark.statistics.mean_difference import Units, Work, mean_difference
from slotmark.statistics.rank_tests import holm

_TOLERANCE = 1e-9
"""By what share of a sample its steps may differ from it: what adding up floating-point numbers costs."""


class Step(msgspec.Struct, frozen=True, kw_only=True):
    """One step, on all hops together.

    Attributes:
        name: In words.
        baseline: Its mean, in the metric's unit.
        candidate: Likewise.
        delta: The difference of the means.
        p_adjusted: That of no difference, adjusted over the steps of the metric.
    """

    name: str
    baseline: float
    candidate: float
    delta: Interval
    p_adjusted: float


class Explained(msgspec.Struct, frozen=True, kw_only=True):
    """A metric's difference, split into steps whose differences add up to it.

    Attributes:
        metric: Which.
        counts: How many samples are split, of the baseline and of the candidate.
        of: How many samples there are, likewise; those that the logs don't tell in full are left out.
        baseline: The mean of the split samples, in the metric's unit.
        candidate: Likewise.
        delta: The difference of the means.
        steps: In the order in which they follow each other.
        first: The name of the step that makes most of the difference beyond chance, in its direction where any does; empty where none does.
    """

    metric: Metric
    counts: tuple[int, int]
    of: tuple[int, int]
    baseline: float
    candidate: float
    delta: Interval
    steps: list[Step]
    first: str


class Explanation(msgspec.Struct, frozen=True, kw_only=True):
    """Where the differences between two sides come from.

    Attributes:
        bench: The bench of all runs.
        baseline: The first side.
        candidate: The second.
        explained: One per metric that can be split and that both sides have.
        unknown: The names of metrics that can't be split in these runs.
        places: Where stages changed otherwise than elsewhere; None where that isn't known.
        confidence: Of every interval, as a fraction.
    """

    bench: str
    baseline: Side
    candidate: Side
    explained: list[Explained]
    unknown: list[str]
    places: Places | None
    confidence: float


def explain(
    baseline: Run | Sequence[Run],
    candidate: Run | Sequence[Run],
    *,
    filters: Sequence[Filter] | None = None,
    confidence: float = 0.95,
) -> Explanation:
    """Splits the differences between two sides into the steps that the catalogue names.

    Args:
        baseline: A run, or several runs of one target.
        candidate: Likewise.
        filters: What of each run is analysed; None for what each run's own profile says.
        confidence: Of every interval, as a fraction.

    Raises:
        ComparisonError: The runs did different work, or no metric of their bench can be split.
        RunError: A run is damaged.
    """
    groups = [[one] if isinstance(one, Run) else list(one) for one in (baseline, candidate)]
    sides = name_sides(groups)
    entries = catalogue(sides[0].manifest.bench)
    refuse_unlike_runs(groups)
    if not entries.splits:
        raise ComparisonError(
            f"No metric of bench '{entries.bench}' is made of steps that follow each other, so there is nothing to explain. "
            "`slotmark compare` shows what differs."
        )
    explained, unknown = [], []
    with ExitStack() as stack:
        analyses = [[stack.enter_context(Analysis(run, filters=filters)) for run in group] for group in groups]
        sides = [analysed(side, of_side) for side, of_side in zip(sides, analyses, strict=True)]
        for split in entries.splits:
            found = _explained(split, analyses, confidence)
            if found:
                explained.append(found)
            else:
                unknown.append(entries[split.metric].name)
        places = places_apart(entries.where, analyses, confidence) if entries.where else None
        doubts = [[doubt for analysis in of_side for doubt in analysis.doubts()] for of_side in analyses]
    ours, theirs = doubted(sides, doubts, [])
    return Explanation(
        bench=entries.bench,
        baseline=ours,
        candidate=theirs,
        explained=explained,
        unknown=unknown,
        places=places,
        confidence=confidence,
    )


class _Steps(msgspec.Struct, frozen=True):
    """The samples of one run that are split.

    Attributes:
        names: Of the steps, in their order.
        values: Shape (steps, samples), in the metric's unit.
        of: How many samples there are.
        works: What each sample's unit was, as :class:`Units` has it.
    """

    names: list[str]
    values: np.ndarray
    of: int
    works: Sequence[Work]


def _explained(split: Split, analyses: Sequence[Sequence[Analysis]], confidence: float) -> Explained | None:
    """The split of one metric; None where a run has no sample that can be split, or fewer than two."""
    sides = [[_steps(split, analysis) for analysis in of_side] for of_side in analyses]
    if min(one.values.shape[1] for of_side in sides for one in of_side) < 2:
        return None
    names = list(dict.fromkeys(name for of_side in sides for one in of_side for name in one.names))
    whole, *parts = [_compared(sides, name, confidence) for name in (None, *names)]
    adjusted = holm([part.p for part in parts])
    steps = [
        Step(name=name, baseline=part.baseline, candidate=part.candidate, delta=part.delta, p_adjusted=p)
        for name, part, p in zip(names, parts, adjusted, strict=True)
    ]
    telling = [step for step in steps if step.p_adjusted < 1 - confidence]
    return Explained(
        metric=analyses[0][0].catalogue[split.metric],
        counts=(_count(sides[0]), _count(sides[1])),
        of=(sum(one.of for one in sides[0]), sum(one.of for one in sides[1])),
        baseline=whole.baseline,
        candidate=whole.candidate,
        delta=whole.delta,
        steps=steps,
        first=_first(telling, whole.delta),
    )


class _Compared(msgspec.Struct, frozen=True):
    baseline: float
    candidate: float
    delta: Interval
    p: float


def _compared(sides: Sequence[Sequence[_Steps]], name: str | None, confidence: float) -> _Compared:
    """One step of both sides, each run with two samples or more; all steps together without a name."""
    ours, theirs = (_units(of_side, name) for of_side in sides)
    found = mean_difference(ours, theirs, confidence=confidence)
    assert found is not None
    return _Compared(found.mean_of(ours), found.mean_of(theirs), found.delta, found.p)


def _first(telling: Sequence[Step], whole: Interval) -> str:
    with_it = [step for step in telling if step.delta.estimate * whole.estimate > 0]
    return max(with_it or telling, key=lambda step: abs(step.delta.estimate)).name if telling else ""


def _steps(split: Split, analysis: Analysis) -> _Steps:
    """The steps of a run's samples. ComparisonError where they don't add up to the samples."""
    table = analysis.steps(split)
    metric = analysis.catalogue[split.metric]
    whole = analysis.samples(split.metric)
    keys = {key: value for part in whole.parts for (key,), value in whole.of(part).items()}
    named = dict(sorted(zip(table["step"].to_pylist(), table["stage"].to_pylist(), strict=True)))
    columns = {key: place for place, key in enumerate(dict.fromkeys(table["key"].to_pylist()))}
    rows = {step: place for place, step in enumerate(named)}
    values = np.zeros((len(rows), len(columns)))
    for step, key, value in zip(*(table[name].to_pylist() for name in ("step", "key", "value")), strict=True):
        values[rows[step], columns[key]] += value
    expected = np.array([keys.get(key, np.nan) for key in columns])
    apart = np.abs(values.sum(axis=0) - expected)
    if not (apart <= _TOLERANCE * np.maximum(1.0, np.abs(expected))).all():
        raise ComparisonError(
            f"{analysis.run.path}: the steps of '{metric.id}' don't add up to it. The run's tables were changed by hand: make it again."
        )
    works = analysis.works(metric.unit_of_chance)
    return _Steps(list(named.values()), values, len(keys), [works[key] for key in columns if key in works])


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
