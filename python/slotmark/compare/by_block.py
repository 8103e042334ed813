"""Comparing repeated costs of the same blocks: from runs to a comparison. docs/ledger.md explains the method."""

import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import repeat

import msgspec
import numpy as np

from slotmark.compare import block_doubts
from slotmark.compare.block_comparison import (
    ALL,
    BlockComparison,
    BlockDifference,
    BlockRow,
    Estimator,
    FactorEffect,
    Ranking,
)
from slotmark.compare.comparison import Side
from slotmark.compare.margins import with_margins
from slotmark.compare.sides import (
    doubts_about,
    doubts_of_runs,
    doubts_within,
    in_turns,
    name_sides,
    refuse_unlike_runs,
    said_once,
)
from slotmark.compare.verdict import decide
from slotmark.errors import ComparisonError
from slotmark.metrics import Metric, catalogue
from slotmark.metrics.matrix import costs_together
from slotmark.metrics.samples import CostMatrix
from slotmark.run import Run
from slotmark.statistics.block_pictures import Band, Density, Dot, bands, densities, dots
from slotmark.statistics.block_ratio import Part, block_log_ratios, total_ratio, typical_ratio
from slotmark.statistics.effect_size import faster_probability, rank_biserial
from slotmark.statistics.equivalence import tost
from slotmark.statistics.factors import factor_effects
from slotmark.statistics.friedman import friedman, post_hoc
from slotmark.statistics.planning import detectable_change, runs_needed
from slotmark.statistics.rank_tests import holm
from slotmark.statistics.shift import Shift, shift_function
from slotmark.statistics.two_level import Estimate, hierarchical
from slotmark.warnings import Warning

Classes = Mapping[str, np.ndarray]
"""Parts of the blocks by name; each shape (blocks,), of truth values."""

MOST_ZEROS = 0.01
"""Where more blocks than this share have a cost of 0, there are no ratios of blocks, only of sums."""

COARSE = 20.0
"""Below this median cost, in the metric's unit, ratios of blocks show the resolution: only sums are compared."""


class _How(msgspec.Struct, frozen=True):
    confidence: float
    repetitions: int
    seed: int

    def stream(self, *names: str) -> list[int]:
        return [self.seed, *(zlib.crc32(name.encode()) for name in names)]


class _Measured(msgspec.Struct, frozen=True):
    """A difference whose p-value isn't adjusted yet."""

    estimate: Estimate | None
    tested: bool
    blocks: int
    log_ratios: np.ndarray | None
    runs: tuple[int, int]
    reason: str = ""


def compare_blocks(
    runs: Sequence[Run | Sequence[Run]],
    *,
    classes: Callable[[Sequence[Run]], Classes] | None = None,
    pauses: str | None = None,
    margins: Mapping[str, float] | None = None,
    confidence: float = 0.95,
    repetitions: int = 2_000,
    seed: int = 1,
    threads: int = 2,
) -> BlockComparison:
    """Compares a baseline with candidates, block by block.

    Args:
        runs: The baseline, then one or more candidates, over the same blocks; each a run, or several runs of one target, whose
            processes are put together.
        classes: Says which blocks of some runs belong to which part; parts are asked for the runs of a pair of sides at a time.
        pauses: The metric that is a part of the main one without being its work: a large share of it is warned of.
        margins: Equivalence margins by metric id, as fractions, in place of the catalogue's.
        confidence: Of every interval, as a fraction.
        repetitions: Of the bootstrap.
        seed: Of the bootstrap; the same seed gives the same comparison, whatever the threads.
        threads: How many candidates are worked on at a time.

    Raises:
        ComparisonError: The runs did different work, hold other blocks, or runs of one side are of other targets.
        RunError: A run is damaged.
    """
    if len(runs) < 2:
        raise ComparisonError("A comparison needs a baseline and at least one candidate: name two runs or more.")
    how = _How(confidence, repetitions, seed)
    groups = [[run] if isinstance(run, Run) else list(run) for run in runs]
    sides = name_sides(groups)
    refuse_unlike_runs(groups)
    metrics = with_margins(catalogue(sides[0].manifest.bench).metrics, margins or {})
    main, *others = metrics
    matrices = _matrices(groups, sides, main)
    parts = [classes([*groups[0], *group]) if classes else {} for group in groups[1:]]
    with ThreadPoolExecutor(max(1, threads)) as pool:
        rows = list(_rows_of(main, matrices, how, pool, parts))
        shifts = list(pool.map(lambda place: _shift(matrices[0], matrices[place], how, place), range(1, len(groups))))
        found = block_doubts.thin_quantiles(shifts[0]) if shifts and shifts[0] else []
        for metric in others:
            costs = [costs_together(group, metric.id) for group in groups]
            if costs[0] is not None and any(cost is not None for cost in costs[1:]):
                rows += _rows_of(metric, costs, how, pool, [{} for _ in groups[1:]])
                found += _coarse(metric, costs[0])
            found += _lacking(metric, sides, costs)
    ranking, factors = _ranking(matrices), _factors(sides, matrices, how)
    pictures = _pictures(matrices, how)
    decided, tests = _decided(rows, how)
    return BlockComparison(
        bench=sides[0].manifest.bench,
        baseline=sides[0],
        candidates=sides[1:],
        processes=[_of(matrix).values.shape[0] for matrix in matrices],
        blocks=_of(matrices[0]).keys.size,
        rows=decided,
        shifts=shifts,
        densities=pictures[0],
        dots=pictures[1],
        bands=pictures[2],
        ranking=ranking,
        factors=factors,
        tests=tests,
        confidence=confidence,
        repetitions=repetitions,
        seed=seed,
        warnings=said_once(_doubts(groups, sides, matrices, main, pauses) + found),
    )


class _Row(msgspec.Struct, frozen=True):
    metric: Metric
    part: str
    estimator: Estimator
    costs: list[float | None]
    measured: list[_Measured | None]


def _matrices(groups: Sequence[Sequence[Run]], sides: Sequence[Side], main: Metric) -> list[CostMatrix | None]:
    """The main metric of every side, which all must have, over the same blocks."""
    matrices: list[CostMatrix | None] = []
    for group, side in zip(groups, sides, strict=True):
        matrix = costs_together(group, main.id)
        if matrix is None:
            raise ComparisonError(f"{side.name} has no '{main.name}': there is nothing to compare. Import it again.")
        first = matrices[0] if matrices else matrix
        if first is None or not np.array_equal(first.keys, matrix.keys):
            raise ComparisonError(
                f"{sides[0].name} and {side.name} hold other blocks: only processes over the same blocks can be compared."
            )
        matrices.append(matrix)
    return matrices


def _rows_of(
    metric: Metric,
    costs: Sequence[CostMatrix | None],
    how: _How,
    pool: ThreadPoolExecutor,
    parts: Sequence[Classes],
) -> Iterator[_Row]:
    """The rows of one metric: over all blocks by both estimators, then part by part."""
    baseline = _of(costs[0])
    estimators: list[Estimator] = ["all blocks together"]
    if _has_ratios(costs):
        estimators.insert(0, "typical block")
    only = estimators[0]
    wanted: list[tuple[str, Estimator]] = [(ALL, estimator) for estimator in estimators]
    for name in dict.fromkeys(name for part in parts for name in part):
        wanted.append((name, only))  # noqa: PERF401 - a comprehension loses the type
    for name, estimator in wanted:
        masks = [None if name == ALL else part.get(name) for part in parts]
        measured = list(
            pool.map(
                _measured_or_not,
                repeat((metric, name, estimator)),
                repeat(baseline),
                costs[1:],
                masks,
                repeat(how),
            )
        )
        shown = next((mask for mask in masks if mask is not None), None)
        yield _Row(metric, name, estimator, [cost and _cost(cost, shown, estimator) for cost in costs], measured)


def _has_ratios(costs: Sequence[CostMatrix | None]) -> bool:
    means = [cost.values.mean(axis=0) for cost in costs if cost is not None]
    zeros = max(float((cost.values <= 0).any(axis=0).mean()) for cost in costs if cost is not None)
    return zeros <= MOST_ZEROS and min(float(np.median(mean)) for mean in means) >= COARSE


def _cost(cost: CostMatrix, mask: np.ndarray | None, estimator: Estimator) -> float:
    mean = cost.values.mean(axis=0) if mask is None else cost.values[:, mask].mean(axis=0)
    return float(np.median(mean) if estimator == "typical block" else mean.mean())


def _measured_or_not(
    what: tuple[Metric, str, Estimator],
    baseline: CostMatrix,
    candidate: CostMatrix | None,
    mask: np.ndarray | None,
    how: _How,
) -> _Measured | None:
    """None where the candidate lacks the metric, or the pair has no such part."""
    metric, part, estimator = what
    if candidate is None or (part != ALL and mask is None):
        return None
    ours, theirs = baseline.values, candidate.values
    if mask is not None:
        ours, theirs = ours[:, mask], theirs[:, mask]
    if estimator == "typical block":
        above = (ours > 0).all(axis=0) & (theirs > 0).all(axis=0)
        if not above.all():
            ours, theirs = ours[:, above], theirs[:, above]
    runs = len(ours), len(theirs)
    blocks = ours.shape[1]
    if ours.sum() <= 0 or theirs.sum() <= 0:
        return _Measured(None, part == ALL, blocks, None, runs, "one side takes no time at all, so there is no ratio")
    if blocks < 2:
        return _Measured(
            None, part == ALL, blocks, None, runs, "one block tells nothing of others; record at least two"
        )
    logs = None
    if estimator == "typical block":
        sides = [Part(-1, ours), Part(1, theirs)]
        effects, logs = typical_ratio(sides), block_log_ratios(sides)
    else:
        effects = total_ratio(ours, theirs)
    estimate = hierarchical(
        effects,
        confidence=how.confidence,
        repetitions=how.repetitions,
        seed=how.stream(metric.id, part, estimator),
    )
    return _Measured(estimate, part == ALL, blocks, logs, runs)


def _decided(rows: Sequence[_Row], how: _How) -> tuple[list[BlockRow], int]:
    """The rows with their verdicts, and over how many tests p-values were adjusted."""
    p_values = {
        (place, column): one.estimate.p
        for place, row in enumerate(rows)
        for column, one in enumerate(row.measured)
        if one
        and one.tested
        and one.estimate
        and not one.estimate.within_runs_only
        and row.estimator == _tested(rows, row)
    }
    adjusted = dict(zip(p_values, holm(list(p_values.values())), strict=True))
    decided = [
        BlockRow(
            metric=row.metric,
            part=row.part,
            estimator=row.estimator,
            costs=row.costs,
            differences=[
                one and _difference(row, rows, one, adjusted.get((place, column)), len(adjusted), how)
                for column, one in enumerate(row.measured)
            ],
        )
        for place, row in enumerate(rows)
    ]
    return decided, len(adjusted)


def _tested(rows: Sequence[_Row], row: _Row) -> Estimator:
    """By which estimator a metric is tested: the first metric by both, others by the first that they have."""
    if row.metric == rows[0].metric:
        return row.estimator
    return next(other.estimator for other in rows if other.metric == row.metric)


def _difference(
    row: _Row, rows: Sequence[_Row], one: _Measured, p_adjusted: float | None, tests: int, how: _How
) -> BlockDifference:
    estimate, margin = one.estimate, row.metric.margin
    verdict, reason = None, one.reason or "shown beside what is tested"
    detectable = needed = equivalent = None
    asked = one.tested and row.estimator == _tested(rows, row)
    if estimate is not None:
        if margin > 0:
            equivalent = tost(estimate.log, estimate.error, estimate.degrees, float(np.log1p(margin)))
        if estimate.within_runs_only:
            reason = "one process on a side says nothing about the build; record at least 5"
        else:
            detectable, needed = _planned(estimate, margin, one.runs, how)
    if asked and (estimate is None or estimate.within_runs_only):
        verdict = "inconclusive"
    elif estimate is not None and p_adjusted is not None:
        decision = decide(
            estimate.ratio, p_adjusted, margin=margin, better=row.metric.better, confidence=how.confidence, tests=tests
        )
        verdict, reason = decision.verdict, decision.reason
    return BlockDifference(
        blocks=one.blocks,
        ratio=estimate and estimate.ratio,
        p=None if p_adjusted is None or estimate is None else estimate.p,
        p_adjusted=p_adjusted,
        p_equivalent=equivalent,
        error_of_runs=estimate and estimate.error_of_runs,
        error_of_blocks=estimate and estimate.error_of_blocks,
        detectable=detectable,
        runs_needed=needed,
        rank_biserial=None if one.log_ratios is None else rank_biserial(one.log_ratios),
        faster=None if one.log_ratios is None else faster_probability(one.log_ratios),
        margin=margin,
        verdict=verdict,
        reason=reason,
    )


def _planned(estimate: Estimate, margin: float, runs: tuple[int, int], how: _How) -> tuple[float, int | None]:
    """The detectable change as a fraction, and the processes a side that the margin needs."""
    alpha = 1 - how.confidence
    change = detectable_change(estimate.error, estimate.degrees, alpha)
    # The variance of the estimate is that of one process, twice, over the harmonic mean of the numbers of processes.
    harmonic = 2 / (1 / runs[0] + 1 / runs[1])
    deviation = (estimate.error_of_runs or 0.0) * np.sqrt(harmonic / 2)
    needed = (
        runs_needed(float(np.log1p(margin)), float(deviation), error_of_blocks=estimate.error_of_blocks, alpha=alpha)
        if margin > 0
        else None
    )
    return float(np.expm1(change)), needed


def _shift(baseline: CostMatrix | None, candidate: CostMatrix | None, how: _How, place: int) -> list[Shift]:
    ours, theirs = _of(baseline).values, _of(candidate).values
    above = (ours > 0).all(axis=0) & (theirs > 0).all(axis=0)
    if above.sum() < 2:
        return []
    return shift_function(
        ours[:, above],
        theirs[:, above],
        confidence=how.confidence,
        repetitions=how.repetitions,
        seed=how.stream("shift", str(place)),
    )


def _typical(matrices: Sequence[CostMatrix | None]) -> list[np.ndarray]:
    """Each side's geometric mean over processes of the blocks that are above 0 everywhere."""
    values = [_of(matrix).values for matrix in matrices]
    above = np.logical_and.reduce([(one > 0).all(axis=0) for one in values])
    return [np.exp(np.log(one[:, above]).mean(axis=0)) for one in values]


def _pictures(
    matrices: Sequence[CostMatrix | None], how: _How
) -> tuple[list[Density], list[list[Dot]], list[list[Band]]]:
    values = [_of(matrix).values for matrix in matrices]
    above = np.logical_and.reduce([(one > 0).all(axis=0) for one in values])
    if not above.any():
        return [], [[] for _ in values[1:]], [[] for _ in values[1:]]
    keys, kept = _of(matrices[0]).keys[above], [one[:, above] for one in values]
    return (
        densities([np.exp(np.log(one).mean(axis=0)) for one in kept]),
        [dots(keys, kept[0], one) for one in kept[1:]],
        [
            bands(kept[0], one, confidence=how.confidence, repetitions=how.repetitions, seed=how.seed)
            for one in kept[1:]
        ],
    )


def _ranking(matrices: Sequence[CostMatrix | None]) -> Ranking | None:
    if len(matrices) < 3:
        return None
    costs = np.stack(_typical(matrices), axis=1)
    if len(costs) < 2:
        return None
    found = friedman(costs)
    return Ranking(chi_squared=found.chi_squared, p=found.p, mean_ranks=found.mean_ranks, pairs=post_hoc(costs))


def _factors(sides: Sequence[Side], matrices: Sequence[CostMatrix | None], how: _How) -> list[FactorEffect]:
    levels = [side.manifest.parameters.get("target factors", {}) for side in sides]
    names = list(levels[0])
    if not names or any(set(one) != set(names) for one in levels):
        return []
    values = [_of(matrix).values for matrix in matrices]
    above = np.logical_and.reduce([(one > 0).all(axis=0) for one in values])
    costs = {tuple(one[name] for name in names): value[:, above] for one, value in zip(levels, values, strict=True)}
    if len(costs) < len(sides) or above.sum() < 2:
        return []
    return factor_effects(names, costs, confidence=how.confidence, repetitions=how.repetitions, seed=how.seed)


def _coarse(metric: Metric, cost: CostMatrix) -> list[Warning]:
    typical = float(np.median(cost.values.mean(axis=0)))
    return [block_doubts.coarse(metric.name, typical)] if 0 < typical < COARSE else []


def _lacking(metric: Metric, sides: Sequence[Side], costs: Sequence[CostMatrix | None]) -> list[Warning]:
    """A doubt for each candidate that can't be compared in a metric that it or the baseline has."""
    return [
        block_doubts.lacking(side.name, metric.name)
        for side, cost in zip(sides[1:], costs[1:], strict=True)
        if (cost is None) != (costs[0] is None)
    ]


def _doubts(
    groups: Sequence[Sequence[Run]],
    sides: Sequence[Side],
    matrices: Sequence[CostMatrix | None],
    main: Metric,
    pauses: str | None,
) -> list[Warning]:
    found = [
        block_doubts.one_process(side.name)
        for side, matrix in zip(sides, matrices, strict=True)
        if len(_of(matrix).values) < 2
    ]
    for side in sides[1:]:
        found += [doubt for doubt in doubts_about(sides[0], side) if doubt.kind != "apart"]
        if not in_turns(sides[0], side):
            found.append(block_doubts.not_interleaved(side.name))
    means = [_of(matrix).values.mean(axis=0) for matrix in matrices]
    for group, side, mean in zip(groups, sides, means, strict=True):
        collected = costs_together(group, pauses) if pauses else None
        if collected is not None and mean.sum() > 0:
            share = float(collected.values.mean(axis=0).sum() / mean.sum())
            if share >= block_doubts.GC_SHARE:
                found.append(block_doubts.gc_inside(side.name, share))
    found += block_doubts.found_in(sides[0].name, means[0], main.unit)
    keys = _of(matrices[0]).keys
    for side, mean in zip(sides[1:], means[1:], strict=True):
        found += block_doubts.few_blocks(side.name, means[0], mean, keys, main.margin)
    found += [doubt for side in sides for doubt in doubts_within(side)]
    return found + [doubt for doubt in doubts_of_runs(sides) if doubt.kind != "one_process"]


def _of(matrix: CostMatrix | None) -> CostMatrix:
    if matrix is None:
        raise ComparisonError("A run lacks the costs that are compared. Import it again.")
    return matrix
