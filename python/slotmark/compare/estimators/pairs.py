"""Targets that met the same events at the same time: the typical ratio of what both have. docs/method.md explains it."""

from collections.abc import Mapping, Sequence

import numpy as np

from slotmark.compare.estimators.interface import Entry, Estimate, Measured, Task, drift_warnings, measured_of_ratio
from slotmark.compare.matching.sides import in_one_session
from slotmark.compare.result import Comparison
from slotmark.compare.results.rows import Basis
from slotmark.compare.summary import summarise
from slotmark.compare.traits import Traits
from slotmark.compare.verdict import Judgement
from slotmark.compare.warnings import unmatched
from slotmark.errors import ComparisonError
from slotmark.metrics import Catalogue, Key, Metric, catalogue
from slotmark.metrics.entries import KeyColumn
from slotmark.numbers import percent
from slotmark.statistics.ratio import paired_ratio
from slotmark.verdict import Verdict
from slotmark.warnings import ENOUGH_EVENTS, Warning
from slotmark.words import counted

TRAITS = Traits()

REPETITIONS = 10_000


def estimate(task: Task) -> Estimate:
    """The typical ratio of every metric in every part, over the keys that both sides have.

    Raises:
        ComparisonError: A side has several runs, or runs are of two sessions: their events are others.
    """
    item = _key(task.bench, task.metrics[0]).item
    if any(len(of_side) > 1 for of_side in task.analyses):
        raise ComparisonError(
            f"Runs of bench '{task.sides[0].manifest.bench}' pair {item} by {item}, inside one session: name one run per side."
        )
    for side in task.sides[1:]:
        if not in_one_session(task.sides[0], side):
            raise ComparisonError(
                f"{task.sides[0].name} and {side.name} were not measured in one session, so they have no {item} in common. "
                "Measure both in one `run`."
            )
    samples = [[analysis.samples(metric.id) for (analysis,) in task.analyses] for metric in task.in_turn()]
    parts = [sorted({part for one in of_runs for part in one.parts}) for of_runs in samples]
    tested = sum(len(of_metric) for metric, of_metric in zip(task.metrics, parts, strict=True) if metric.tested)
    repetitions = task.how.draws(REPETITIONS, (len(task.sides) - 1) * tested)
    entries: list[Entry] = []
    of_sides: list[list[Warning]] = [[] for _ in task.sides]
    for metric, of_runs, of_metric in zip(task.metrics, samples, parts, strict=True):
        for part in of_metric:
            present = [one.of(part) if part in one.parts else None for one in of_runs]
            measured: list[Measured | None] = []
            found: list[Warning] = []
            for place, one in enumerate(present[1:], start=1):
                if present[0] is None or one is None:
                    measured.append(None)
                    continue
                pair = _shared(present[0], one)
                measured.append(_measured(task, metric, part, pair, repetitions))
                if metric.tested:
                    subject = f"{task.sides[place].name}: {part}"
                    apart = len(present[0].keys() ^ one.keys())
                    of_sides[place] += _unshared(task.bench, subject, apart, item)
                    of_sides[place] += _few(task.bench, subject, pair[0].size, item)
                    found += _drifting(task, pair, subject)
            entries.append(
                Entry(
                    metric=metric,
                    part=part,
                    quantity="typical",
                    summaries=[summarise(one, task.how.confidence) if one else None for one in present],
                    measured=measured,
                    warnings=found,
                )
            )
    return Estimate(
        entries=entries,
        repetitions=repetitions,
        of_sides=[[*one, *other] for one, other in zip(of_sides, unmatched(task.sides, entries), strict=True)],
    )


def method(comparison: Comparison) -> str:
    """Returns how events of the same time were compared, in words."""
    entries = catalogue(comparison.baseline.manifest.bench)
    key = next(_key(entries, row.metric) for row in comparison.rows if row.metric.estimator == "pairs")
    return (
        f"{entries.method} Only {key.item}s that both have count. "
        f"The ratio is the typical one of candidate over baseline (of 8 {key.item}s or more, the geometric mean without the smallest and the "
        f"largest tenth; {key.item}s of one {key.word} count as one); its {percent(comparison.confidence)} interval and p-value come from a studentised "
        f"bootstrap with {comparison.repetitions:,} repetitions (seed {comparison.seed}). Each target was one process, so verdicts are "
        f"conditional on these; below {ENOUGH_EVENTS} {key.item}s there is none. docs/method.md gives the reasons."
    )


def _key(bench: Catalogue, metric: Metric) -> KeyColumn:
    """The key column by whose values targets are paired, and what is found at one."""
    return bench.key(metric.grain[0])


def _shared(baseline: Mapping[Key, float], candidate: Mapping[Key, float]) -> tuple[np.ndarray, np.ndarray]:
    """One value of each side per value of the first key column at which both have one, in its order: the geometric mean of those with the same keys."""
    together: dict[int | str, list[tuple[float, float]]] = {}
    for key, ours in baseline.items():
        theirs = candidate.get(key)
        if theirs is not None:
            together.setdefault(key[0], []).append((ours, theirs))
    both = np.array([_mean(np.array(pairs)) for pairs in together.values()]).reshape(-1, 2)
    return both[:, 0], both[:, 1]


def _mean(pairs: np.ndarray) -> np.ndarray:
    """The geometric mean of each side's values, the smallest where one isn't above zero; shape (2,)."""
    return np.exp(np.log(pairs).mean(axis=0)) if pairs.min() > 0 else pairs.min(axis=0)


def _measured(task: Task, metric: Metric, part: str, pair: tuple[np.ndarray, np.ndarray], repetitions: int) -> Measured:
    """The ratio of a candidate to the baseline; conditional, since each is one process."""
    events, item = pair[0].size, _key(task.bench, metric).item
    shown = "" if metric.tested else "not tested"
    settled = None
    if events < ENOUGH_EVENTS:
        settled = Judgement(
            Verdict.UNDECIDED,
            f"{events} {item}{'s' if events != 1 else ''} that both have can't separate a difference from noise; {ENOUGH_EVENTS} are needed",
        )
    if events < 2:
        return Measured(ratio=None, paired=True, shown=shown, settled=settled)
    if min(float(one.min()) for one in pair) <= 0:
        none = Judgement(Verdict.UNDECIDED, "some samples are zero or below, so there is no ratio")
        return Measured(ratio=None, paired=True, shown=shown, settled=None if shown else settled or none)
    found = paired_ratio(
        *pair, confidence=task.how.confidence, repetitions=repetitions, seed=task.how.stream(metric.id, part)
    )
    effective = found.effective or float(events)
    return measured_of_ratio(
        found,
        repetitions,
        paired=True,
        shown=shown,
        settled=settled,
        conditional=True,
        basis=Basis(f"{item}s", (events, events), (effective, effective)),
    )


def _drifting(task: Task, pair: tuple[np.ndarray, np.ndarray], subject: str) -> Sequence[Warning]:
    """Warning about events whose ratio resembles that of the event before."""
    if pair[0].size < ENOUGH_EVENTS or min(float(one.min()) for one in pair) <= 0:
        return []
    return drift_warnings(task.bench, pair, subject, task.how.stream("drift", subject))


def _unshared(bench: Catalogue, subject: str, events: int, item: str) -> list[Warning]:
    """Warning about events that count for one of two targets only."""
    if not events:
        return []
    count, are = ("counts", "is") if events == 1 else ("count", "are")
    return bench.warnings_on("unshared", subject, events=counted(events, item), count=count, are=are)


def _few(bench: Catalogue, subject: str, events: int, item: str) -> list[Warning]:
    """Warning about too few events for any verdict."""
    if events >= ENOUGH_EVENTS:
        return []
    return bench.warnings_on("too_few", subject, count=counted(events, item), enough=str(ENOUGH_EVENTS))
