"""Comparing runs: pairs their samples, estimates, adjusts, judges."""

from collections.abc import Mapping, Sequence

import msgspec
import numpy as np

from slotmark import warnings
from slotmark.compare.comparison import Comparison, Difference, Interval, Key, Row, Side
from slotmark.compare.resampling import Estimated, difference, generator, mean
from slotmark.compare.summary import summarise
from slotmark.compare.verdict import holm, judge
from slotmark.errors import ComparisonError
from slotmark.metrics import Metric, catalogue, samples
from slotmark.run import Manifest, Run
from slotmark.warnings import Warning

ENOUGH_ROUNDS = 5
"""Below so many samples nothing is said about a difference."""

Table = dict[str, dict[Key, float]]
"""Samples by setting and key."""


def compare(
    runs: Sequence[Run],
    *,
    margins: Mapping[str, float] | None = None,
    confidence: float = 0.95,
    repetitions: int = 10_000,
    seed: int = 1,
) -> Comparison:
    """Compares the first run with each of the others, in every metric of their bench.

    Args:
        runs: The baseline and at least one candidate.
        margins: Equivalence margins by metric, as fractions, in place of the catalogue's.
        confidence: Of every interval.
        repetitions: Of the bootstrap.
        seed: Of the bootstrap.

    Raises:
        ComparisonError: The runs are of different benches or workloads, have one name, or rounds that don't match.
        RunError: A run is damaged, or a margin names a metric that there isn't.
    """
    margins = dict(margins or {})
    entries = catalogue(runs[0].manifest.bench)
    for metric_id in margins:
        entries[metric_id]
    sides = [Side(run.name, run.manifest) for run in runs]
    _refuse_unlike(sides)
    rows: list[Row] = []
    unmatched: list[Warning] = []
    for entry in entries.metrics:
        tables = [_table(run, entry) for run in runs]
        settings = list(dict.fromkeys(setting for table in tables for setting in table))
        metric = msgspec.structs.replace(entry, margin=margins.get(entry.id, entry.margin))
        rows += [
            _row(metric, setting, sides, [table.get(setting) for table in tables], confidence, repetitions, seed)
            for setting in settings
        ]
        if entry is entries.metrics[0]:
            unmatched = _unmatched(sides, tables, settings)
    rows, tests = _judged(rows, confidence)
    return Comparison(
        bench=entries.bench,
        baseline=sides[0],
        candidates=sides[1:],
        rows=rows,
        tests=tests,
        confidence=confidence,
        repetitions=repetitions,
        seed=seed,
        warnings=_doubts(sides, rows) + unmatched,
    )


def _table(run: Run, metric: Metric) -> Table:
    found = samples(run, metric.id)
    return {setting: found.of(setting) for setting in found.settings}


def _refuse_unlike(sides: Sequence[Side]) -> None:
    names = [side.name for side in sides]
    for name in names:
        if names.count(name) > 1:
            raise ComparisonError(
                f"two runs are called '{name}': their folders must have different names. Rename one of them."
            )
    base = sides[0]
    for side in sides[1:]:
        if side.manifest.bench != base.manifest.bench:
            raise ComparisonError(
                f"{side.name} is a run of {side.manifest.bench}, {base.name} of {base.manifest.bench}: nothing to compare."
            )
        for fact in {**base.manifest.workload, **side.manifest.workload}:
            if fact.startswith("digest"):
                continue  # follows from the blocks and the modes
            ours, theirs = base.manifest.workload.get(fact, "nothing"), side.manifest.workload.get(fact, "nothing")
            if ours != theirs:
                raise ComparisonError(
                    f"{side.name} and {base.name} did different work: {fact} is {theirs} against {ours}. "
                    "Measure both over the same window of the same chain."
                )


def _row(
    metric: Metric,
    setting: str,
    sides: Sequence[Side],
    tables: Sequence[dict[Key, float] | None],
    confidence: float,
    repetitions: int,
    seed: int,
) -> Row:
    summaries = [summarise(table, confidence, repetitions, seed) if table else None for table in tables]
    base = tables[0]
    differences: list[Difference | None] = []
    for side, table in zip(sides[1:], tables[1:], strict=True):
        if not base or not table:
            differences.append(None)
            continue
        paired = side.manifest.session == sides[0].manifest.session
        if paired and metric.tested and base.keys() != table.keys():
            raise ComparisonError(
                f"{side.name} and {sides[0].name}: {metric.id} of '{setting}' has samples that don't match, though both were "
                "measured in one session. A run's tables were changed by hand."
            )
        differences.append(_difference(metric, setting, side.name, base, table, paired, confidence, repetitions, seed))
    return Row(metric=metric, setting=setting, summaries=summaries, differences=differences)


def _difference(
    metric: Metric,
    setting: str,
    name: str,
    base: Mapping[Key, float],
    other: Mapping[Key, float],
    paired: bool,
    confidence: float,
    repetitions: int,
    seed: int,
) -> Difference:
    def undecided(reason: str) -> Difference:
        return Difference(
            ratio=None,
            p=None,
            p_adjusted=None,
            paired=paired,
            margin=metric.margin,
            verdict="inconclusive",
            reason=reason,
        )

    ours, theirs = (np.array([table[key] for key in sorted(table)], dtype=np.float64) for table in (base, other))
    fewest = min(ours.size, theirs.size)
    if not metric.tested:
        ratio = float(np.median(theirs) / np.median(ours)) if np.median(ours) else None
        shown = None if ratio is None else Interval(ratio, ratio, ratio)
        return Difference(
            ratio=shown, p=None, p_adjusted=None, paired=paired, margin=metric.margin, verdict=None, reason="not tested"
        )
    if (ours <= 0).any() or (theirs <= 0).any():
        if np.array_equal(ours, theirs):
            return msgspec.structs.replace(undecided("all samples are equal"), verdict="equivalent")
        return undecided("a sample is 0, so there is no ratio")
    if fewest < 2:
        return undecided(f"{fewest} round can't tell a difference from noise")
    random = generator(seed, metric.id, setting, name)
    log = (
        mean(np.log(theirs / ours), confidence, repetitions, random)
        if paired
        else difference(np.log(ours), np.log(theirs), confidence, repetitions, random)
    )
    ratio = _ratio(log)
    if fewest < ENOUGH_ROUNDS:
        return msgspec.structs.replace(
            undecided(f"{fewest} rounds can't tell a difference from noise; {ENOUGH_ROUNDS} are needed"), ratio=ratio
        )
    return Difference(
        ratio=ratio, p=log.p, p_adjusted=None, paired=paired, margin=metric.margin, verdict=None, reason=""
    )


def _ratio(log: Estimated) -> Interval:
    low, high = np.exp(np.clip([log.low, log.high], -50, 50))
    return Interval(float(np.exp(log.estimate)), float(low), float(high))


def _judged(rows: Sequence[Row], confidence: float) -> tuple[list[Row], int]:
    """Adjusts all p-values together, and judges; with the number of tests."""
    places = [
        (row, place)
        for row, entry in enumerate(rows)
        for place, difference in enumerate(entry.differences)
        if difference is not None and difference.p is not None
    ]
    p_values = [
        p for row, place in places if (entry := rows[row].differences[place]) is not None and (p := entry.p) is not None
    ]
    judged = [list(row.differences) for row in rows]
    for (row, place), p_adjusted in zip(places, holm(p_values), strict=True):
        difference, metric = judged[row][place], rows[row].metric
        assert difference is not None
        assert difference.ratio is not None
        verdict, reason = judge(difference.ratio, p_adjusted, metric.margin, metric.better, confidence)
        judged[row][place] = msgspec.structs.replace(difference, p_adjusted=p_adjusted, verdict=verdict, reason=reason)
    return [
        msgspec.structs.replace(row, differences=differences) for row, differences in zip(rows, judged, strict=True)
    ], len(places)


def _unmatched(sides: Sequence[Side], tables: Sequence[Table], settings: Sequence[str]) -> list[Warning]:
    return [
        warnings.unmatched(side.name, f"the setting '{setting}'")
        for setting in settings
        for side, table in zip(sides[1:], tables[1:], strict=True)
        if (setting in table) != (setting in tables[0])
    ]


def _doubts(sides: Sequence[Side], rows: Sequence[Row]) -> list[Warning]:
    found: list[Warning] = []
    base = sides[0].manifest
    for side in sides:
        found += [
            msgspec.structs.replace(warning, subject=": ".join(filter(None, (side.name, warning.subject))))
            for warning in side.manifest.warnings
        ]
    for side in sides[1:]:
        if side.manifest.session != base.session:
            found.append(warnings.apart(side.name))
        found.extend(
            warnings.different(side.name, what, ours, theirs) for what, ours, theirs in _unlike(base, side.manifest)
        )
    for row in rows:
        if row.metric.id == rows[0].metric.id:
            for side, summary in zip(sides, row.summaries, strict=True):
                if summary is not None and summary.outliers:
                    found.append(
                        warnings.outliers(f"{side.name}: {row.setting}", [str(key[0]) for key in summary.outliers])
                    )
    return _once(found)


def _unlike(base: Manifest, other: Manifest) -> list[tuple[str, str, str]]:
    """Facts that should be equal and aren't: what, the baseline's, the other's."""
    facts = [
        (f"machine, {name}", getattr(base.machine, name), getattr(other.machine, name))
        for name in ("cpu", "cores", "governor", "memory_bytes", "kernel", "virtualisation", "hostname_hash")
    ]
    facts += [
        (name, base.parameters.get(name), other.parameters.get(name))
        for name in base.parameters | other.parameters
        if name not in ("seed", "rounds")
    ]
    facts += [(name, base.versions.get(name), other.versions.get(name)) for name in ("slotmark", "slotmark commit")]
    return [(what, str(ours), str(theirs)) for what, ours, theirs in facts if ours != theirs]


def _once(found: Sequence[Warning]) -> list[Warning]:
    """One warning for what is said of every side in the same words, with all subjects."""
    merged: dict[tuple[str, str], list[str]] = {}
    for warning in found:
        merged.setdefault((warning.kind, warning.text), []).append(warning.subject)
    return [Warning(kind, text, "; ".join(dict.fromkeys(subjects))) for (kind, text), subjects in merged.items()]
