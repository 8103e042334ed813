"""Targets measured together in interleaved rounds: the typical ratio of what belongs to one round. docs/method.md explains it."""

from collections.abc import Sequence

import msgspec
import numpy as np

from slotmark.compare.estimators.interface import Entry, Estimate, Measured, Task, drift_warnings, measured_of_ratio
from slotmark.compare.matching.pairing import by_replicate, refuse_unmatched, replicates
from slotmark.compare.matching.sides import in_one_session
from slotmark.compare.result import Comparison
from slotmark.compare.results.rows import Basis, Summary
from slotmark.compare.summary import summarise
from slotmark.compare.traits import Traits, Unit, pair_degrees
from slotmark.compare.verdict import Judgement
from slotmark.compare.warnings import unmatched
from slotmark.errors import ComparisonError
from slotmark.metrics import Metric, Samples
from slotmark.numbers import brief, percent, plain
from slotmark.statistics.ratio import paired_ratio, unpaired_ratio
from slotmark.statistics.two_speeds import stuck
from slotmark.verdict import Verdict
from slotmark.warnings import ENOUGH_ROUNDS, Warning
from slotmark.words import counted

TRAITS = Traits(units=(Unit(over="rounds", degrees=pair_degrees, in_session=True),))

REPETITIONS = 10_000


def estimate(task: Task) -> Estimate:
    """The typical ratio of every metric in every part."""
    if any(len(of_side) > 1 for of_side in task.analyses):
        bench = task.sides[0].manifest.bench
        raise ComparisonError(
            f"Runs of bench '{bench}' have their repetitions inside them: name one run per side, and raise --rounds."
        )
    samples = [[analysis.samples(metric.id) for (analysis,) in task.analyses] for metric in task.in_turn()]
    parts = [sorted({part for one in of_runs for part in one.parts}) for of_runs in samples]
    tested = sum(len(of_metric) for metric, of_metric in zip(task.metrics, parts, strict=True) if metric.tested)
    repetitions = task.how.draws(REPETITIONS, (len(task.sides) - 1) * tested)
    entries: list[Entry] = []
    fewest: list[int] = []
    for metric, of_runs, of_metric in zip(task.metrics, samples, parts, strict=True):
        for part in of_metric:
            present = [one if part in one.parts else None for one in of_runs]
            measured = [
                _measured(task, metric, part, (present[0], one), place, repetitions) if present[0] and one else None
                for place, one in enumerate(present[1:], start=1)
            ]
            summaries = [one and _summary(one, part, task.how.confidence) for one in present]
            entries.append(Entry(metric=metric, part=part, quantity="typical", summaries=summaries, measured=measured))
            if metric.tested:
                fewest += [replicates(one, part) for one in present if one and any(measured)]
    entries = [
        _marked(task, entry, of_runs) if entry.metric == entries[0].metric else entry
        for of_runs in samples[:1]
        for entry in entries
    ]
    few = (
        task.bench.warnings_on("too_few", count=counted(min(fewest), "round"), enough=str(ENOUGH_ROUNDS))
        if fewest and min(fewest) < ENOUGH_ROUNDS
        else []
    )
    apart = [
        task.bench.warnings_on("apart") if place and not in_one_session(task.sides[0], side) else []
        for place, side in enumerate(task.sides)
    ]
    return Estimate(
        entries=entries,
        repetitions=repetitions,
        warnings=few,
        of_sides=[[*one, *other] for one, other in zip(apart, unmatched(task.sides, entries), strict=True)],
    )


def method(comparison: Comparison) -> str:
    """Returns how rounds were compared, in words."""
    paired = all(in_one_session(comparison.baseline, side) for side in comparison.candidates)
    pairing = (
        "Samples are paired by their keys: the runs were measured in one session, interleaved in an order drawn at random."
        if paired
        else "Not all runs were measured in one session: where not, samples are taken as independent."
    )
    return (
        f"{pairing} The ratio is the typical one of candidate over baseline (of 8 rounds or more, the geometric mean without the smallest "
        f"and the largest tenth); its {percent(comparison.confidence)} interval and p-value come from a studentised bootstrap with "
        f"{comparison.repetitions:,} repetitions (seed {comparison.seed}). The unit of replication is the process run; outliers are marked, "
        "never dropped. docs/method.md gives the reasons."
    )


def _measured(
    task: Task, metric: Metric, part: str, pair: tuple[Samples, Samples], place: int, repetitions: int
) -> Measured:
    """The ratio of a candidate to the baseline.

    Raises:
        ComparisonError: A tested metric's samples can't be paired though both runs are of one session.
    """
    baseline, candidate = pair
    sides = task.sides[0], task.sides[place]
    paired = in_one_session(*sides)
    shown = "" if metric.tested else "not tested"
    if paired:
        try:
            refuse_unmatched(baseline, candidate, part, (sides[0].name, sides[1].name))
        except ComparisonError:
            if metric.tested:
                raise
            return Measured(ratio=None, paired=True, shown=shown)
    fewest = min(replicates(one, part) for one in pair)
    settled = _too_few(metric, fewest) if fewest < ENOUGH_ROUNDS else None
    values = [one.values(part) for one in pair]
    if min(float(one.min()) for one in values) <= 0:
        return Measured(ratio=None, paired=paired, shown=shown, settled=settled or _without_ratio(values))
    if fewest < 2:
        return Measured(ratio=None, paired=paired, shown=shown, settled=settled)
    in_rounds = [by_replicate(one, part) for one in pair]
    settled = settled or _stuck(metric, [side.name for side in sides], in_rounds, paired=paired)
    found = (paired_ratio if paired else unpaired_ratio)(
        *in_rounds,
        confidence=task.how.confidence,
        repetitions=repetitions,
        seed=task.how.stream(metric.id, part),
    )
    counts = replicates(baseline, part), replicates(candidate, part)
    return measured_of_ratio(
        found,
        repetitions,
        paired=paired,
        shown=shown,
        settled=settled,
        # Two sessions differ in more than the target, and there is one of each.
        conditional=not paired,
        basis=Basis("rounds", counts, counts if found.effective is None else (found.effective, found.effective)),
    )


def _stuck(metric: Metric, names: Sequence[str], values: Sequence[np.ndarray], *, paired: bool) -> Judgement | None:
    """No verdict where a side sticks to one of two levels that are further apart than the margin; None otherwise."""
    logs = [np.log(one) for one in values]
    for name, own in zip(names, logs, strict=True):
        found = stuck(own, logs[1] - logs[0] if paired else own)
        if found is not None and found.apart > np.log1p(metric.margin):
            changes = counted(found.changes, "time")
            return Judgement(
                Verdict.UNDECIDED,
                f"no verdict possible: {name} is at one of two levels, {percent(float(np.expm1(found.apart)))} apart, and changed between them only {changes} "
                f"in {own.size} rounds, so that nothing shows how much of the time it is at either; run more rounds",
            )
    return None


def _summary(samples: Samples, part: str, confidence: float) -> Summary:
    return summarise(samples.of(part), confidence, timeline=samples.metric.chart == "timeline")


def _too_few(metric: Metric, fewest: int) -> Judgement:
    what = metric.grain[0] if metric.grain else "sample"
    return Judgement(
        Verdict.UNDECIDED,
        f"{counted(fewest, what)} can't separate a difference from noise; {ENOUGH_ROUNDS} are needed",
    )


def _without_ratio(values: Sequence[np.ndarray]) -> Judgement:
    """The verdict where some values are not above zero."""
    first = values[0][0]
    if all((one == first).all() for one in values):
        return Judgement(Verdict.EQUIVALENT, f"all samples of both are {plain(first)}")
    medians = " and ".join(brief(float(np.median(one))) for one in values)
    return Judgement(
        Verdict.UNDECIDED, f"some samples are zero or below, so there is no ratio; the medians are {medians}"
    )


def _marked(task: Task, entry: Entry, samples: Sequence[Samples]) -> Entry:
    """The entry of the catalogue's first metric with its outliers and drifts as warnings: what disturbs an invocation shows there."""
    found: list[Warning] = []
    for side, summary in zip(task.sides, entry.summaries, strict=True):
        if summary and summary.outliers:
            keys = [str(key[0]) for key in summary.outliers if key]
            rounds, lie = ("Rounds", "lie") if len(keys) > 1 else ("Round", "lies")
            subject = f"{side.name}: {entry.part}"
            found += task.bench.warnings_on("outliers", subject, rounds=f"{rounds} {', '.join(keys)}", lie=lie)
    for place, one in enumerate(entry.measured, start=1):
        if one is not None and one.ratio is not None and one.paired:
            found += _drifting(task, (samples[0], samples[place]), entry.part, task.sides[place].name)
    return msgspec.structs.replace(entry, warnings=found)


def _drifting(task: Task, pair: tuple[Samples, Samples], part: str, name: str) -> Sequence[Warning]:
    """Warning about rounds whose ratio resembles that of the round before."""
    in_rounds = [by_replicate(one, part) for one in pair]
    if in_rounds[0].size < ENOUGH_ROUNDS:
        return []
    return drift_warnings(task.bench, in_rounds, f"{name}: {part}", task.how.stream("drift", part, name))
