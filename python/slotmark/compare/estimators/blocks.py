"""Repeated costs of the same blocks, in several processes per side, block by block. docs/ledger.md explains the method."""

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial

import msgspec
import numpy as np

from slotmark.compare import block_warnings
from slotmark.compare.estimators.interface import Entry, Estimate, How, Measured, Task
from slotmark.compare.matching.turns import apart
from slotmark.compare.result import Comparison, Side
from slotmark.compare.results.details import Blocks, Ranking
from slotmark.compare.results.rows import ALL, OF_BLOCKS, Basis, BlockDesign, Quantity, Summary
from slotmark.compare.summary import summarise_costs
from slotmark.compare.traits import Traits, Unit, side_degrees
from slotmark.compare.verdict import Judgement
from slotmark.errors import ComparisonError
from slotmark.metrics import Catalogue, CostMatrix, Metric, catalogue, costs_together, parts_of
from slotmark.numbers import independent, percent
from slotmark.statistics.block_pictures import Band, Density, Dot, bands, densities, dots
from slotmark.statistics.block_ratio import Part, even_log_ratios, total_ratio, typical_ratio
from slotmark.statistics.dependence import LEAST_EFFECTIVE
from slotmark.statistics.effect_size import faster_probability, rank_biserial
from slotmark.statistics.equivalence import tost
from slotmark.statistics.factors import FactorEffect, factor_effects
from slotmark.statistics.friedman import friedman, post_hoc
from slotmark.statistics.planning import detectable_change, runs_needed
from slotmark.statistics.shift import Shift, shift_function
from slotmark.statistics.two_level import Estimate as TwoLevel
from slotmark.statistics.two_level import hierarchical
from slotmark.verdict import Verdict
from slotmark.warnings import ENOUGH_RUNS, Warning

TRAITS = Traits(units=(Unit(over="processes", of_runs=True, degrees=side_degrees),))

REPETITIONS = 2_000

MOST_ZEROS = 0.01
"""The share of blocks with a cost of 0 above which there are no ratios of blocks, only of sums."""

TYPICAL, SUMS = OF_BLOCKS

NO_CHANCE = 10
"""The number of blocks from which on two processes don't have the same costs by chance."""

Masks = Mapping[str, np.ndarray]
"""Parts of the blocks by name; each shape (blocks,), of truth values."""


def estimate(task: Task) -> Estimate:
    """The ratio of every metric, over all blocks by both quantities; of the first metric also part by part, which is only shown.

    Raises:
        ComparisonError: A side lacks the first metric, or the runs hold other blocks.
    """
    in_turn = task.in_turn()
    main = next(in_turn)
    repetitions = task.how.draws(REPETITIONS)
    how = msgspec.structs.replace(task.how, repetitions=repetitions)
    matrices = _main_costs(task, main)
    parts = [parts_of([*task.analyses[0], *of_side]) for of_side in task.analyses[1:]]
    orders = _orders(task)
    of_sides = _warnings(task, matrices, main, orders)
    with ThreadPoolExecutor(max(1, how.threads)) as pool:
        entries = list(_entries(main, list(matrices), how, pool, parts, orders, main=True))
        shifts = list(pool.map(partial(_shift, matrices[0], how), range(1, len(matrices)), matrices[1:]))
        thin = block_warnings.thin_quantiles(task.bench, shifts[0]) if shifts and shifts[0] else []
        entries[0] = msgspec.structs.replace(entries[0], warnings=thin)
        for metric in in_turn:
            costs = [costs_together(of_side, metric.id) for of_side in task.analyses]
            for place, cost in enumerate(costs[1:], start=1):
                if (cost is None) != (costs[0] is None):
                    of_sides[place] += task.bench.warnings_on("lacking", metric=metric.name)
            if costs[0] is None or (costs[1:] and all(cost is None for cost in costs[1:])):
                continue
            found = list(_entries(metric, costs, how, pool, [{} for _ in parts], orders, main=False))
            found[0] = msgspec.structs.replace(
                found[0], warnings=block_warnings.coarse(task.bench, metric.name, costs[0].values)
            )
            entries += found
            of_sides = _with_pauses(task.bench, metric, main, matrices, costs, of_sides)
    values = [one.values for one in matrices]
    above = np.logical_and.reduce([(one > 0).all(axis=0) for one in values])
    kept = [one[:, above] for one in values]
    density, dotted, banded = _pictures(matrices[0].keys[above], kept, how)
    detail = Blocks(
        processes=[len(one) for one in values],
        blocks=matrices[0].keys.size,
        shifts=shifts,
        densities=density,
        dots=dotted,
        bands=banded,
        ranking=_ranking(kept),
        factors=_factors(task.sides, kept, how),
    )
    return Estimate(entries=entries, repetitions=repetitions, details=[detail], of_sides=of_sides)


def method(comparison: Comparison) -> str:
    """Returns how costs of the same blocks were compared, in words."""
    key = catalogue(comparison.bench).key(comparison.costs.grain[-1]).word
    return (
        f"Blocks are paired by {key}; a target's cost is the mean of log costs over its processes. Typical block: the Hodges-Lehmann "
        "estimate of the blocks' log ratios, as a ratio. All blocks together: the ratio of sums. "
        f"{percent(comparison.confidence)} intervals and p-values are Student's t over two sources of variation, processes and blocks; the "
        "correlation of neighbouring blocks is taken from their order. With one process on a side, intervals cover blocks within the processes "
        f"only; below {ENOUGH_RUNS} there is no verdict. Quantiles are Harrell-Davis's (bootstrap, {comparison.repetitions:,} repetitions, seed "
        f"{comparison.seed}). "
        "docs/ledger.md gives the reasons and the error rates."
    )


def _main_costs(task: Task, main: Metric) -> list[CostMatrix]:
    """The main metric of every side, which all must have, over the same blocks."""
    matrices: list[CostMatrix] = []
    for analyses, side in zip(task.analyses, task.sides, strict=True):
        matrix = costs_together(analyses, main.id)
        if matrix is None:
            raise ComparisonError(f"{side.name} has no '{main.name}': there is nothing to compare. Import it again.")
        if matrices and not np.array_equal(matrices[0].keys, matrix.keys):
            raise ComparisonError(
                f"{task.sides[0].name} and {side.name} hold other blocks: only processes over the same blocks can be compared."
            )
        matrices.append(matrix)
    _refuse_twins([side.name for side in task.sides], matrices, main)
    return matrices


def _refuse_twins(names: Sequence[str], matrices: Sequence[CostMatrix], main: Metric) -> None:
    """Raises ComparisonError where two processes have the same cost of every block: they are one, as where it was imported from files of two formats."""
    known: dict[bytes, str] = {}
    for name, matrix in zip(names, matrices, strict=True):
        if matrix.keys.size < NO_CHANCE:
            continue
        for number, costs in enumerate(matrix.values, start=1):
            here = f"process {number} of {name}"
            there = known.setdefault(hashlib.sha256(costs.tobytes()).digest(), here)
            if there != here:
                raise ComparisonError(
                    f"{there} and {here} have the same {main.name} of every block: they are one process, which must count once. Leave one out."
                )


def _entries(
    metric: Metric,
    costs: Sequence[CostMatrix | None],
    how: How,
    pool: ThreadPoolExecutor,
    parts: Sequence[Masks],
    orders: Sequence[str],
    *,
    main: bool,
) -> Iterator[Entry]:
    """The rows of one metric: over all blocks by both quantities, then part by part. The main metric is tested by both."""
    baseline = costs[0]
    if baseline is None:
        return
    quantities: list[Quantity] = [TYPICAL, SUMS] if _has_ratios(costs) else [SUMS]
    wanted: list[tuple[str, Quantity]] = [
        *((ALL, quantity) for quantity in quantities),
        *((name, quantities[0]) for name in dict.fromkeys(name for part in parts for name in part)),
    ]
    for place, (name, quantity) in enumerate(wanted):
        masks = [None if name == ALL else part.get(name) for part in parts]
        shown = "" if name == ALL and (main or place == 0) else "shown beside what is tested"
        measure = partial(_measured, metric, name, quantity, shown, how, baseline)
        drawn = next((mask for mask in masks if mask is not None), None)
        yield Entry(
            metric=metric,
            part=name,
            quantity=quantity,
            summaries=[cost and _summary(cost, drawn) for cost in costs],
            measured=list(pool.map(measure, costs[1:], masks, orders)),
        )


def _has_ratios(costs: Sequence[CostMatrix | None]) -> bool:
    values = [cost.values for cost in costs if cost is not None]
    zeros = max(float((one <= 0).any(axis=0).mean()) for one in values)
    return zeros <= MOST_ZEROS and all(
        float(np.median(one.mean(axis=0))) >= block_warnings.coarse_below(one) for one in values
    )


def _summary(cost: CostMatrix, mask: np.ndarray | None) -> Summary:
    return summarise_costs(cost.values if mask is None else cost.values[:, mask])


def _measured(
    metric: Metric,
    part: str,
    quantity: Quantity,
    shown: str,
    how: How,
    baseline: CostMatrix,
    candidate: CostMatrix | None,
    mask: np.ndarray | None,
    order: str,
) -> Measured | None:
    """None where the candidate lacks the metric, or the pair has no such part; ``order`` is why the two didn't take turns."""
    if candidate is None or (part != ALL and mask is None):
        return None
    ours, theirs = baseline.values, candidate.values
    if mask is not None:
        ours, theirs = ours[:, mask], theirs[:, mask]
    if quantity == TYPICAL:
        above = (ours > 0).all(axis=0) & (theirs > 0).all(axis=0)
        if not above.all():
            ours, theirs = ours[:, above], theirs[:, above]
    runs, blocks = (len(ours), len(theirs)), ours.shape[1]
    if ours.sum() <= 0 or theirs.sum() <= 0:
        return _without_ratio(blocks, shown, "one side takes no time at all, so there is no ratio")
    if blocks < 2:
        return _without_ratio(blocks, shown, "one block doesn't show how blocks vary; record at least two")
    logs = None
    if quantity == TYPICAL:
        sides = [Part(-1, ours), Part(1, theirs)]
        effects, logs = typical_ratio(sides), even_log_ratios(sides).ravel()
    else:
        effects = total_ratio(ours, theirs)
    found = hierarchical(effects, confidence=how.confidence)
    detail = _design(found, metric.margin, blocks, runs, logs, how)
    basis = Basis("processes", runs, runs)
    too_few = _too_few(min(runs), blocks, found.effective) or _out_of_turns(order)
    if too_few:
        return Measured(
            ratio=found.ratio,
            bounds=found.bounds,
            paired=True,
            shown=too_few if shown else "",
            settled=None if shown else Judgement(Verdict.UNDECIDED, too_few),
            basis=basis,
            detail=detail,
        )
    return Measured(
        ratio=found.ratio, bounds=found.bounds, p=found.p, paired=True, shown=shown, basis=basis, detail=detail
    )


def _orders(task: Task) -> list[str]:
    """Returns for each candidate why nothing shows that it and the baseline took turns; empty where they did."""
    turns = catalogue(task.sides[0].manifest.bench).turns
    return [
        apart(turns, (task.sides[0], side), (task.analyses[0], analyses))
        for side, analyses in zip(task.sides[1:], task.analyses[1:], strict=True)
    ]


def _out_of_turns(order: str) -> str:
    return (
        order
        and f"no verdict possible: {order}, so a drift of the machine would look like a difference; record them in turns"
    )


def _too_few(processes: int, blocks: int, effective: float) -> str:
    """Returns why processes or blocks are too few for a verdict, in words; empty where they aren't."""
    if processes == 1:
        return "one process on a side is too few for a verdict on the build; record at least 5"
    if processes < ENOUGH_RUNS:
        return f"{processes} processes on a side agree too often by chance; record at least 5"
    if effective < LEAST_EFFECTIVE < blocks:
        return (
            f"no verdict possible: neighbouring blocks change together, so {blocks:,} are {independent(effective)}, and "
            f"{LEAST_EFFECTIVE} are needed"
        )
    return ""


def _without_ratio(blocks: int, shown: str, reason: str) -> Measured:
    detail = BlockDesign(
        blocks=blocks,
        effective_blocks=None,
        p_equivalent=None,
        error_of_runs=None,
        error_of_blocks=None,
        detectable=None,
        runs_needed=None,
        rank_biserial=None,
        faster=None,
    )
    settled = None if shown else Judgement(Verdict.UNDECIDED, reason)
    return Measured(ratio=None, paired=True, shown=shown and reason, settled=settled, detail=detail)


def _design(
    found: TwoLevel, margin: float, blocks: int, runs: tuple[int, int], logs: np.ndarray | None, how: How
) -> BlockDesign:
    """Returns the differences that the design of a comparison could find, beside its results."""
    detectable = needed = None
    if not found.within_runs_only:
        detectable, needed = _planned(found, margin, runs, how)
    return BlockDesign(
        blocks=blocks,
        effective_blocks=found.effective,
        p_equivalent=tost(found.log, found.error, found.degrees, float(np.log1p(margin))) if margin > 0 else None,
        error_of_runs=found.error_of_runs,
        error_of_blocks=found.error_of_blocks,
        detectable=detectable,
        runs_needed=needed,
        rank_biserial=None if logs is None else rank_biserial(logs),
        faster=None if logs is None else faster_probability(logs),
    )


def _planned(found: TwoLevel, margin: float, runs: tuple[int, int], how: How) -> tuple[float, int | None]:
    """The detectable change as a fraction, and the processes per side that the margin needs."""
    alpha = 1 - how.confidence
    change = detectable_change(found.error, found.degrees, alpha)
    # The variance of the estimate is that of one process, twice, over the harmonic mean of the numbers of processes.
    harmonic = 2 / (1 / runs[0] + 1 / runs[1])
    deviation = (found.error_of_runs or 0.0) * np.sqrt(harmonic / 2)
    needed = (
        runs_needed(float(np.log1p(margin)), float(deviation), error_of_blocks=found.error_of_blocks, alpha=alpha)
        if margin > 0
        else None
    )
    return float(np.expm1(change)), needed


def _shift(baseline: CostMatrix, how: How, place: int, candidate: CostMatrix) -> list[Shift]:
    ours, theirs = baseline.values, candidate.values
    above = (ours > 0).all(axis=0) & (theirs > 0).all(axis=0)
    if above.sum() < 2:
        return []
    return shift_function(
        ours[:, above],
        theirs[:, above],
        confidence=how.confidence,
        repetitions=how.draws(REPETITIONS),
        seed=how.stream("shift", str(place)),
    )


def _pictures(
    keys: np.ndarray, values: Sequence[np.ndarray], how: How
) -> tuple[list[Density], list[list[Dot]], list[list[Band]]]:
    """Returns the numbers behind the charts, over the blocks that are above 0 everywhere."""
    if not keys.size:
        return [], [[] for _ in values[1:]], [[] for _ in values[1:]]
    return (
        densities([np.exp(np.log(one).mean(axis=0)) for one in values]),
        [dots(keys, values[0], one) for one in values[1:]],
        [bands(values[0], one, confidence=how.confidence) for one in values[1:]],
    )


def _ranking(values: Sequence[np.ndarray]) -> Ranking | None:
    if len(values) < 3 or values[0].shape[1] < 2:
        return None
    costs = np.stack([np.exp(np.log(one).mean(axis=0)) for one in values], axis=1)
    found = friedman(costs)
    return Ranking(chi_squared=found.chi_squared, p=found.p, mean_ranks=found.mean_ranks, pairs=post_hoc(costs))


def _factors(sides: Sequence[Side], values: Sequence[np.ndarray], how: How) -> list[FactorEffect]:
    levels = [side.manifest.factors for side in sides]
    names = list(levels[0])
    if not names or any(set(one) != set(names) for one in levels):
        return []
    costs = {tuple(one[name] for name in names): value for one, value in zip(levels, values, strict=True)}
    if len(costs) < len(sides) or values[0].shape[1] < 2:
        return []
    return factor_effects(names, costs, confidence=how.confidence)


def _warnings(task: Task, matrices: Sequence[CostMatrix], main: Metric, orders: Sequence[str]) -> list[list[Warning]]:
    """Warnings about each side's main metric."""
    means = [one.values.mean(axis=0) for one in matrices]
    found: list[list[Warning]] = []
    for place, (matrix, mean) in enumerate(zip(matrices, means, strict=True)):
        of_side = _few(task.bench, len(matrix.values))
        if place:
            if order := orders[place - 1]:
                of_side += task.bench.warnings_on("not_in_turns", order=f"{order[:1].upper()}{order[1:]}")
            of_side += block_warnings.few_blocks(task.bench, means[0], mean, matrix.keys, main.margin)
        else:
            of_side += block_warnings.clustered(task.bench, mean, main.unit)
        found.append(of_side)
    return found


def _few(bench: Catalogue, processes: int) -> list[Warning]:
    if processes == 1:
        return bench.warnings_on("one_process")
    return bench.warnings_on("two_processes") if processes < ENOUGH_RUNS else []


def _with_pauses(
    bench: Catalogue,
    metric: Metric,
    main: Metric,
    matrices: Sequence[CostMatrix],
    costs: Sequence[CostMatrix | None],
    of_sides: list[list[Warning]],
) -> list[list[Warning]]:
    """The warnings, and one more for each side where this metric is a large part of the main one without being its work."""
    if metric.inside != main.id:
        return of_sides
    found = []
    for matrix, cost, of_side in zip(matrices, costs, of_sides, strict=True):
        whole = float(matrix.values.mean(axis=0).sum())
        share = float(cost.values.mean(axis=0).sum()) / whole if cost is not None and whole > 0 else 0.0
        found.append([*of_side, *block_warnings.paused(bench, share)])
    return found
