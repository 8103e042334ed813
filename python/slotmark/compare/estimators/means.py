"""Arithmetic means of runs, as clusters are published: their difference, by runs or within single ones. docs/method.md explains it."""

from collections.abc import Collection, Sequence
from functools import partial

import msgspec
import numpy as np

from slotmark.compare.estimators.interface import Entry, Estimate, How, Measured, Task, measured_of_means
from slotmark.compare.estimators.reach import Chance, Tests, Variation, planned, variation
from slotmark.compare.matching.machines import on_same_machines
from slotmark.compare.matching.paired_runs import Pairing, Pairs, pairing
from slotmark.compare.matching.side_units import (
    SideUnits,
    as_new,
    is_recorded,
    machines_of,
    paired_units,
    same_keys,
    side_of_runs,
    sides_of_parts,
)
from slotmark.compare.result import Comparison
from slotmark.compare.results.details import Looks
from slotmark.compare.results.rows import FROM_RUNS, Basis, Design, Summary
from slotmark.compare.run_to_run.prior import Prior, source_of
from slotmark.compare.traits import Traits, Unit, pair_degrees
from slotmark.compare.verdict import Judgement
from slotmark.compare.warnings import unmatched
from slotmark.metrics import Analysis, Metric, catalogue, one_ahead, side_by_side
from slotmark.numbers import independent, plain
from slotmark.statistics.anytime import FIRST_LOOK, PRIOR
from slotmark.statistics.between_runs import (
    RunMean,
    Scale,
    Spread,
    combined,
    moderated_together,
    of_pairs,
    pooled,
    residuals,
)
from slotmark.statistics.dependence import LEAST_EFFECTIVE, LEAST_VALUES
from slotmark.statistics.interval import Interval
from slotmark.statistics.mean_difference import (
    LOPSIDED,
    MeanDifference,
    Units,
    difference_of_runs,
    from_scale,
    mean_difference,
    over_levels,
)
from slotmark.verdict import Verdict
from slotmark.warnings import ENOUGH_RUNS
from slotmark.words import counted

TRAITS = Traits(
    means_of_runs=True,
    units=(
        Unit(over="runs", of_runs=True, pooled=True),
        Unit(over="paired rounds", of_runs=True, degrees=pair_degrees, together="from rounds in turns"),
        Unit(over="paired seeds", of_runs=True, degrees=pair_degrees, together="from runs of the same seeds"),
        Unit(over="mixed rounds", of_runs=True, together="from places that were swapped from round to round"),
    ),
)

DESIGNS = {
    "paired rounds": "Runs of both sides took turns in one session: the runs of a round are a pair, and Student's t is over the differences of rounds. ",
    "paired seeds": "Runs of both sides were simulated with the same seeds, which draw the same events: the runs of a seed are a pair, and Student's t is over the "
    "differences of seeds. ",
}
"""The words for how runs that belong together are compared, by what an interval is over; those of mixed runs are in the catalogue."""


AT_ANY_LOOK = (
    f"Rounds were made until they decided, and looked at after each from round {FIRST_LOOK} on. Intervals and p-values are those of a confidence sequence, by Student's t with a normal prior: "
    "they hold at all looks together, whenever one stops. What isn't there in so many rounds on both sides has no verdict. "
)
"""The words for comparisons of rounds that come one by one."""


class Levels(msgspec.Struct, frozen=True):
    """One side's runs by their means."""

    runs: list[RunMean]
    smallest: float


class RunRow(msgspec.Struct, frozen=True):
    """A metric in a part, before it is known how much runs of one build differ.

    Attributes:
        metric: Which.
        part: Which of its samples.
        summaries: One per side.
        scale: Scale of the means of runs.
        sides: One per side; None where it lacks the metric.
        of_pairs: One per candidate: the difference pair by pair, or by what varies within two single runs; None for others.
    """

    metric: Metric
    part: str
    summaries: list[Summary | None]
    scale: Scale
    sides: list[Levels | None]
    of_pairs: list[Measured | None]

    @property
    def runs(self) -> list[list[RunMean]]:
        """The runs of the sides that have the metric."""
        return [side.runs for side in self.sides if side]


def estimate(task: Task) -> Estimate:
    """The difference of means of every metric. The samples of one metric at a time are in memory; sides are worked on side by side."""
    rows: list[RunRow] = []
    pairs = [
        pairing(task.sides[0], side, task.analyses[0], of_side)
        for side, of_side in zip(task.sides[1:], task.analyses[1:], strict=True)
    ]
    machines = machines_of(task.analyses)
    alike = [{key for key in machines if same_keys([task.analyses[0], of_side], key)} for of_side in task.analyses[1:]]
    steady = {key for key in machines if same_keys(task.analyses, key)}
    variations: list[Variation] = []
    every = [analysis for of_side in task.analyses for analysis in of_side]
    for analysis in every:
        analysis.expect([metric.id for metric in task.metrics])
    with side_by_side(every) as pool:
        for metric, of_sides in one_ahead(
            task.in_turn(),
            lambda metric: [pool.submit(sides_of_parts, metric, of_side) for of_side in task.analyses],
        ):
            for part in sorted({part for of_side in of_sides for part in of_side}):
                sides, summaries = zip(*(of_side.get(part, (None, None)) for of_side in of_sides), strict=True)
                base = sides[0]
                there = [side for side in sides if side]
                if metric.tested and there:
                    varies = _variation(metric, part, [as_new(side) for side in there], task.how.prior)
                    variations += [varies] if varies else []
                scale = _scale(metric, there)
                rows.append(
                    RunRow(
                        metric,
                        part,
                        list(summaries),
                        scale,
                        [side and _levels(metric, side, scale, steady) for side in sides],
                        [
                            base
                            and side
                            and _of_pairs(
                                task,
                                metric,
                                base,
                                side if metric.unit_of_chance in same else as_new(side),
                                scale,
                                paired,
                            )
                            for side, same, paired in zip(sides[1:], alike, pairs, strict=True)
                        ],
                    )
                )
    entries = compared(rows, task.how.prior, task.how.confidence)
    tested = [entry.metric.rank == "decisive" for entry in entries for one in entry.measured if one and one.tested]
    by_runs = any(one and one.basis and one.basis.of_runs for entry in entries for one in entry.measured)
    once = task.bench.warnings_on("one_run", enough=str(ENOUGH_RUNS)) if entries and not by_runs else []
    plan = partial(planned, variations, Tests(len(tested), sum(tested), task.how.confidence))
    return Estimate(
        entries=entries,
        plan=plan if variations and tested else None,
        details=[Looks(first=FIRST_LOOK, prior=PRIOR)] if task.how.at_any_look else [],
        of_sides=[[*once, *other] for other in unmatched(task.sides, entries)],
    )


def method(comparison: Comparison) -> str:
    """Returns how means of runs were compared, in words."""
    several = any(side.others for side in comparison.sides)
    filters = comparison.baseline.filters
    way = (
        "Where a side has several runs, or it is known otherwise how much runs of one build differ, the means of runs are compared; else samples"
        if several
        else "Samples"
    )
    over = {
        one.basis.over
        for row in comparison.rows
        for one in row.differences
        if one is not None and one.basis is not None
    }
    of_bench = catalogue(comparison.baseline.manifest.bench)
    turns = "".join(words for kind, words in DESIGNS.items() if kind in over)
    turns += AT_ANY_LOOK if any(isinstance(one, Looks) for one in comparison.details) else ""
    turns += f"{of_bench.mixed.method} ".lstrip() if of_bench.mixed and "mixed rounds" in over else ""
    of_samples = f"{of_bench.method} " if of_bench.method else ""
    return (
        f"A metric's value is the arithmetic mean of its samples. {of_samples}"
        f"{way} of one run aren't independent of each other: the variance of a mean is estimated from the slowest cosines of the run's course, and "
        "intervals and p-values are Student's t with as many degrees of freedom. Each row has the number of samples, and of independent ones that would be as "
        "informative; no verdict is possible below 4. Single runs have no verdict either if it would not hold with the largest drift of the level that "
        "the noise of samples may hide, unless verdicts on these runs only are asked for. Verdicts are "
        "conditional where each side was run once and nothing shows how much runs of one build differ. Otherwise the run is the unit: means of runs are compared on the "
        "scale of logarithms (shares and counts as they are). The variance between runs is that of the runs of each side, pooled over all sides and combined with earlier knowledge or "
        "moderated by the other metrics of the section; intervals and p-values are Student's t over it and the variance "
        f"within runs. {turns}Where a metric has a smallest difference that matters, the margin is that or "
        f"a share of the baseline, whichever is larger. docs/method.md gives the reasons and the error rates. {of_bench.analysed_in_words(filters)}"
    )


def compared(rows: Sequence[RunRow], prior: Prior | None, confidence: float) -> list[Entry]:
    """The rows with their differences, by how much runs of one build differ where it is known."""
    entries = []
    for row, known in zip(rows, _spreads(rows, prior), strict=True):
        measured = [
            _measured(row, place, known, confidence) if row.sides[0] and row.sides[place] else None
            for place in range(1, len(row.sides))
        ]
        entries.append(
            Entry(
                metric=row.metric,
                part=row.part,
                quantity="mean",
                summaries=row.summaries,
                fitted=_levels_of_runs(row, measured),
                measured=measured,
            )
        )
    return entries


def _levels_of_runs(row: RunRow, measured: Sequence[Measured | None]) -> list[float | None] | None:
    """The mean of the means of each side's runs, which their differences are between; None where these are between samples, or no side has several runs.

    The mean of all samples is another where runs have unlike numbers of them: column and difference would not agree.
    """
    by_runs = any(one and one.basis and one.basis.of_runs for one in measured)
    if not by_runs or max(map(len, row.runs)) == 1:
        return None
    return [side and from_scale(float(np.mean([run.level for run in side.runs])), row.scale) for side in row.sides]


class _Known(msgspec.Struct, frozen=True):
    """The spread of runs of one build in a metric, and its source, in words."""

    spread: Spread
    source: str


def _spreads(rows: Sequence[RunRow], prior: Prior | None) -> list[_Known | None]:
    """Returns the spread of runs of one build, row by row; None where it is unknown.

    Runs of this comparison count first. What was known before is weighed against them by its degrees of freedom; without it, metrics of one section
    moderate each other.
    """
    found: list[_Known | None] = []
    groups: dict[tuple[object, ...], list[int]] = {}
    for place, row in enumerate(rows):
        own = pooled(row.runs)
        before = None
        if prior and row.runs and row.scale == row.metric.run_scale:
            level = from_scale(row.runs[0][0].level, row.scale)
            before = prior.of(row.metric, row.part, level=level, own=own is not None)
        known = combined(own, before and before[0])
        found.append(known and _Known(known, source_of(own is not None, before)))
        if own and before is None and own.variance > 0 and row.metric.tested:
            key = row.metric.section, row.scale, own.degrees, residuals(row.runs).size
            groups.setdefault(key, []).append(place)
    for places in groups.values():
        own = [one.spread for place in places if (one := found[place])]
        away = np.column_stack([residuals(rows[place].runs) for place in places])
        for place, moderated in zip(places, moderated_together(own, away), strict=True):
            found[place] = _Known(moderated, FROM_RUNS)
    return found


def runs_by_part(metric: Metric, analyses: Sequence[Sequence[Analysis]]) -> dict[str, list[list[RunMean]]]:
    """The means of all runs on the metric's scale, side by side, in each part that all of them have; without parts that have no logarithm."""
    steady = {key for key in machines_of(analyses) if same_keys(analyses, key)}
    of_sides = [sides_of_parts(metric, of_side) for of_side in analyses]
    found: dict[str, list[list[RunMean]]] = {}
    for part in sorted(set.intersection(*(set(of_side) for of_side in of_sides))):
        sides = [side for of_side in of_sides if (side := of_side[part][0])]
        counts = [len(side.runs) for side in sides]
        if counts == [len(of_side) for of_side in analyses] and _scale(metric, sides) == metric.run_scale:
            found[part] = [_levels(metric, side, metric.run_scale, steady).runs for side in sides]
    return found


def _scale(metric: Metric, sides: Sequence[SideUnits]) -> Scale:
    """The metric's scale, or that of differences where a run's mean has no logarithm."""
    return metric.run_scale if all(run.mean > 0 for side in sides for run in side.runs) else "identity"


def _levels(metric: Metric, side: SideUnits, scale: Scale, steady: Collection[str]) -> Levels:
    units = side if metric.unit_of_chance in steady else as_new(side)
    return Levels([run.on(scale) for run in units.runs], side.smallest)


def variations_of(
    metrics: Sequence[Metric],
    builds: Sequence[Sequence[Analysis]],
    prior: Prior | None = None,
    pairs: Pairs | None = None,
) -> tuple[list[Variation], list[Chance]]:
    """Returns the variation of the means of runs of one build and, of pairs of runs of two builds, of their difference, metric by metric and part by part.

    Args:
        metrics: Which.
        builds: The runs of each.
        prior: What was known before of how much runs of one build differ.
        pairs: Which runs belong together; None where none do.
    """
    variations: list[Variation] = []
    chances: list[Chance] = []
    everyone = [analysis for of_build in builds for analysis in of_build]
    for metric in metrics:
        each = [[analysis.samples(metric.id) for analysis in of_build] for of_build in builds]
        for part in sorted({part for of_build in each for one in of_build for part in one.parts}):
            present = [[one for one in of_build if is_recorded(one, part)] for of_build in each]
            sides = [side_of_runs([(one, {}) for one in of_build], part) for of_build in present if of_build]
            if not sides:
                continue
            if not all(on_same_machines(everyone[0], other, metric.unit_of_chance) for other in everyone[1:]):
                sides = [as_new(side) for side in sides]
            varies = _variation(metric, part, sides, prior)
            if varies is None:
                continue
            variations.append(varies)
            if pairs and [len(one) for one in present] == [len(one) for one in each]:
                levels = np.array(
                    [
                        [side.runs[place].mean for place in order]
                        for side, order in zip(sides, pairs.orders, strict=True)
                    ]
                )
                chances.append(chance_of_pairs(varies, pairs.over, levels))
    return variations, chances


def chance_of_pairs(varies: Variation, over: Design, levels: np.ndarray) -> Chance:
    """Returns the variation of the difference that one pair of runs shows.

    Args:
        varies: How much single runs do.
        over: What a pair is of.
        levels: Means of runs, above 0; shape (builds, pairs).
    """
    metric = varies.metric
    spread = of_pairs(np.log(levels) if metric.run_scale == "log" else levels / varies.mean)
    return Chance(design=over, metric=metric, part=varies.part, mean=varies.mean, spread=spread)


def _variation(metric: Metric, part: str, sides: Sequence[SideUnits], prior: Prior | None) -> Variation | None:
    return variation(metric, part, f"{sides[0].unit}s", [side.runs for side in sides], prior)


def _measured(row: RunRow, place: int, known: _Known | None, confidence: float) -> Measured | None:
    """Returns the distance of a candidate's mean from the baseline's: by pairs of runs, by runs where their spread is known, else within two of them."""
    ours, theirs, of_pairs = row.sides[0], row.sides[place], row.of_pairs[place - 1]
    by_pairs = of_pairs is not None and of_pairs.paired
    if by_pairs or known is None or ours is None or theirs is None:
        return of_pairs
    found = difference_of_runs(ours.runs, theirs.runs, known.spread, confidence=confidence, scale=row.scale)
    basis = Basis("runs", (len(ours.runs), len(theirs.runs)), found.effective, found.degrees, known.source)
    smallest = min(ours.smallest, theirs.smallest)
    return _of_difference(row.metric, found, found.base or 0.0, smallest, basis, conditional=False)


def _of_pairs(
    task: Task, metric: Metric, ours: SideUnits, theirs: SideUnits, scale: Scale, paired: Pairing | None
) -> Measured | None:
    """Returns the distance of a candidate's mean from the baseline's, by pairs of runs or within two single runs; None for others."""
    smallest = min(ours.smallest, theirs.smallest)
    if paired and (pairs := paired_units(ours, theirs, paired)):
        levels = [np.array([run.on(scale).level for run in side.runs]) for side in pairs]
        return of_paired_levels(metric, (levels[0], levels[1]), smallest, scale, paired.over, task.how)
    if task.how.at_any_look:
        return _too_few_rounds(metric, 1)
    if not len(ours.runs) == len(theirs.runs) == 1:
        return None
    found = mean_difference(ours.runs, theirs.runs, confidence=task.how.confidence)
    if found is None:
        settled = Judgement(Verdict.UNDECIDED, f"one {ours.unit} doesn't show how much values vary")
        shown = "" if metric.tested else "not tested"
        return Measured(ratio=None, paired=False, shown=shown, settled=settled, conditional=True)
    basis = _basis(found, ours, theirs)
    settled = _undecided(ours.unit, found, basis, [*ours.runs, *theirs.runs])
    return _of_difference(metric, found, found.mean_of(ours.runs), smallest, basis, settled, conditional=True)


def of_paired_levels(
    metric: Metric, levels: tuple[np.ndarray, np.ndarray], smallest: float, scale: Scale, over: Design, how: How
) -> Measured:
    """Returns the distance of a candidate's mean from the baseline's by pairs of runs.

    Args:
        metric: Which.
        levels: The means of the sides' runs on the scale, pair by pair, two or more.
        smallest: The smallest sample of all.
        scale: Scale of the means.
        over: What a pair is of.
        how: How.
    """
    ours, theirs = levels
    count = ours.size
    if how.at_any_look and count < FIRST_LOOK:
        return _too_few_rounds(metric, count)
    found = over_levels(ours, theirs, confidence=how.confidence, scale=scale, at_any_look=how.at_any_look)
    if over == "paired rounds" and found.delta.low == found.delta.high != 0:
        # Differences of few possible values are equal by chance too. Seeds draw the same for both, so that theirs may be the same.
        found = msgspec.structs.replace(found, p=max(found.p, 2.0 ** (1 - count)))
    basis = Basis(over, (count, count), found.effective)
    return _of_difference(metric, found, found.base or 0.0, smallest, basis, conditional=count < ENOUGH_RUNS)


def _too_few_rounds(metric: Metric, count: int) -> Measured:
    """No verdict on rounds that come one by one, before the first look."""
    few = f"{counted(count, 'round')} that both sides have it in: verdicts begin with {FIRST_LOOK}"
    return Measured(
        ratio=None,
        paired=True,
        shown="" if metric.tested else "not tested",
        settled=Judgement(Verdict.UNDECIDED, few),
        basis=Basis("paired rounds", (count, count), (float(count), float(count))),
    )


def _of_difference(
    metric: Metric,
    found: MeanDifference,
    base: float,
    smallest: float,
    basis: Basis,
    settled: Judgement | None = None,
    *,
    conditional: bool,
) -> Measured:
    """A difference from a base, as a share of it where it is above 0."""
    shown = "" if metric.tested else "not tested"
    # What can't be below 0 can't become less by more than all of it.
    floor = -max(base, 0.0) if smallest >= 0 else -np.inf

    def floored(one: Interval) -> Interval:
        return msgspec.structs.replace(one, low=max(one.low, floor))

    delta = floored(found.delta)
    if base <= 0 and delta.low == delta.high == 0:
        settled = Judgement(Verdict.EQUIVALENT, f"all samples of both are {plain(base)}")
    return measured_of_means(
        metric,
        base,
        delta,
        floored(found.bounds),
        p=found.p,
        paired=found.over == "pairs",
        shown=shown,
        settled=settled,
        conditional=conditional,
        basis=basis,
        widest=found.widest and floored(found.widest),
    )


def _basis(found: MeanDifference, ours: SideUnits, theirs: SideUnits) -> Basis:
    counts = (sum(one.sums.size for one in side.runs) for side in (ours, theirs))
    matched = "matched " if found.over == "matched units" else ""
    return Basis(f"{matched}{ours.unit}s", (next(counts), next(counts)), found.effective)


def _undecided(unit: str, found: MeanDifference, basis: Basis, runs: Sequence[Units]) -> Judgement | None:
    """No verdict where units are so alike that a mean may lie anywhere, or few skewed ones are compared with many; None otherwise."""
    fewest = min(one.sums.size for one in runs)
    if runs[0].ordered and fewest < LEAST_VALUES:
        return Judgement(
            Verdict.UNDECIDED,
            f"{counted(fewest, unit)} don't show how much neighbours are correlated; {LEAST_VALUES} are needed",
        )
    if runs[0].ordered and min(basis.effective) < LEAST_EFFECTIVE:
        return Judgement(
            Verdict.UNDECIDED,
            f"no verdict possible: the level drifts so slowly that {basis.counts[0]:,} and {basis.counts[1]:,} {basis.over} are "
            f"{independent(*basis.effective)}, and {LEAST_EFFECTIVE} are needed; several runs per side are needed to know",
        )
    if found.drifts:
        return Judgement(
            Verdict.UNDECIDED,
            f"no verdict possible: the level seems to drift under the noise of {basis.over}, so that nothing shows how much a run's mean varies; "
            "several runs per side are needed to know",
        )
    if found.lopsided > LOPSIDED:
        return Judgement(
            Verdict.UNDECIDED,
            f"no verdict possible: values far from the others are rare and on one side of the mean, and the sides have {basis.counts[0]:,} and "
            f"{basis.counts[1]:,} {basis.over}; the smaller side hardly has any of them. Compare runs of about equal length",
        )
    return None
