"""Comparing: from runs to a comparison."""

from collections.abc import Mapping, Sequence
from contextlib import ExitStack

import msgspec

from slotmark import warnings
from slotmark.compare.comparison import Comparison, Difference, Row, Side, Summary
from slotmark.compare.margins import with_margins
from slotmark.compare.sides import (
    doubts_about,
    doubts_of_runs,
    in_one_session,
    name_sides,
    refuse_different_work,
    said_once,
)
from slotmark.compare.summary import summarise, summarise_runs
from slotmark.compare.testing import Bootstrap, Tested, tested, tested_means
from slotmark.compare.verdict import ENOUGH_ROUNDS, Decision, decide
from slotmark.errors import ComparisonError
from slotmark.metrics import Analysis, Filter, Metric, Samples, catalogue
from slotmark.run import Run
from slotmark.statistics.rank_tests import holm
from slotmark.warnings import Warning

_FINER = 20
"""The smallest p-value that the bootstrap can give, adjusted, is at most 1 - confidence over this."""


class _Entry(msgspec.Struct, frozen=True):
    """A row whose p-values aren't adjusted yet."""

    metric: Metric
    setting: str
    summaries: list[Summary | None]
    tested: list[Tested | None]


def compare(
    runs: Sequence[Run | Sequence[Run]],
    *,
    filters: Sequence[Filter] | None = None,
    margins: Mapping[str, float] | None = None,
    confidence: float = 0.95,
    repetitions: int = 10_000,
    seed: int = 1,
) -> Comparison:
    """Compares a baseline with candidates, metric by metric and setting by setting. docs/method.md explains the method.

    Args:
        runs: The baseline, then one or more candidates; each a run, or several runs of one target.
        filters: What of each run is analysed, for benches with filters; None for what each run's own profile says.
        margins: Equivalence margins by metric id, as fractions, in place of the catalogue's.
        confidence: Of every interval, as a fraction; verdicts need p-values below 1 - confidence.
        repetitions: Of the bootstrap, at least; more are made where many tests need smaller p-values.
        seed: Of the bootstrap; the same seed gives the same comparison.

    Raises:
        ComparisonError: The runs did different work, can't be paired, or an argument makes no sense.
        RunError: A run is damaged.
    """
    if len(runs) < 2:
        raise ComparisonError("A comparison needs a baseline and at least one candidate: name two runs or more.")
    if not 0 < confidence < 1:
        raise ComparisonError(f"The confidence is {confidence}, but it's a fraction between 0 and 1. Try 0.95.")
    groups = [[run] if isinstance(run, Run) else list(run) for run in runs]
    sides = name_sides(groups)
    for group, side in zip(groups, sides, strict=True):
        for run in group:
            refuse_different_work(sides[0], msgspec.structs.replace(side, manifest=run.manifest))
    metrics = with_margins(catalogue(sides[0].manifest.bench).metrics, margins or {})
    if any(len(group) > 1 for group in groups) and any(metric.estimator == "rounds" for metric in metrics):
        raise ComparisonError(
            f"Runs of bench '{sides[0].manifest.bench}' have their repetitions inside them: name one run a side, and raise --rounds."
        )
    with ExitStack() as stack:
        analyses = [[stack.enter_context(Analysis(run, filters=filters)) for run in group] for group in groups]
        if catalogue(sides[0].manifest.bench).filterable:
            sides = [
                msgspec.structs.replace(
                    side, filters=[str(one) for one in of_side[0].filters], facts=of_side[0].facts()
                )
                for side, of_side in zip(sides, analyses, strict=True)
            ]
        settings = {metric.id: _settings(metric, analyses) for metric in metrics}
        most = len(sides[1:]) * sum(len(settings[metric.id]) for metric in metrics if metric.tested)
        bootstrap = Bootstrap(confidence, max(repetitions, round(_FINER * most / (1 - confidence))), seed)
        entries = [
            entry
            for metric in metrics
            for entry in _entries(sides, metric, settings[metric.id], analyses, bootstrap)
            if any(entry.summaries)
        ]
        doubts = [
            msgspec.structs.replace(doubt, subject=side.name)
            for side, of_side in zip(sides, analyses, strict=True)
            for analysis in of_side
            for doubt in analysis.doubts()
        ]
    rows, tests = _decided(entries, confidence)
    return Comparison(
        bench=sides[0].manifest.bench,
        baseline=sides[0],
        candidates=sides[1:],
        rows=rows,
        tests=tests,
        confidence=confidence,
        repetitions=bootstrap.repetitions,
        seed=seed,
        warnings=[*said_once(doubts), *_doubts(sides, entries)],
    )


def _settings(metric: Metric, analyses: Sequence[Sequence[Analysis]]) -> list[str]:
    """The settings that any run may have of a metric."""
    if not analyses[0][0].catalogue.part:
        return [""]
    each = [analysis.samples(metric.id).parts for of_side in analyses for analysis in of_side]
    return sorted({part for parts in each for part in parts})


def _entries(
    sides: Sequence[Side],
    metric: Metric,
    settings: Sequence[str],
    analyses: Sequence[Sequence[Analysis]],
    bootstrap: Bootstrap,
) -> list[_Entry]:
    """One entry a setting. The samples of one metric at a time are in memory."""
    of_sides = [[_with_margin(analysis.samples(metric.id), metric) for analysis in of_side] for of_side in analyses]
    make = _mean_entry if metric.estimator == "means" else _entry
    return [make(sides, metric, setting, of_sides, bootstrap) for setting in settings]


def _with_margin(samples: Samples, metric: Metric) -> Samples:
    return msgspec.structs.replace(samples, metric=metric)


def _mean_entry(
    sides: Sequence[Side], metric: Metric, setting: str, of_sides: Sequence[Sequence[Samples]], bootstrap: Bootstrap
) -> _Entry:
    present = [[one for one in of_side if setting in one.parts] for of_side in of_sides]
    return _Entry(
        metric,
        setting,
        [summarise_runs(having, setting) if having else None for having in present],
        [
            tested_means(present[0], having, setting, bootstrap=bootstrap) if present[0] and having else None
            for having in present[1:]
        ],
    )


def _entry(
    sides: Sequence[Side], metric: Metric, setting: str, of_sides: Sequence[Sequence[Samples]], bootstrap: Bootstrap
) -> _Entry:
    present = [one if setting in one.parts else None for (one,) in of_sides]
    base = present[0]
    return _Entry(
        metric,
        setting,
        [one and summarise(one.of(setting), bootstrap.confidence) for one in present],
        [
            tested(
                base,
                one,
                setting,
                names=(sides[0].name, side.name),
                paired=in_one_session(sides[0], side),
                bootstrap=bootstrap,
            )
            if base and one
            else None
            for side, one in zip(sides[1:], present[1:], strict=True)
        ],
    )


def _decided(entries: Sequence[_Entry], confidence: float) -> tuple[list[Row], int]:
    """The rows with their verdicts, and over how many tests p-values were adjusted."""
    p_values = {
        (place, column): one.ratio.p
        for place, entry in enumerate(entries)
        for column, one in enumerate(entry.tested)
        if entry.metric.tested and one and one.ratio and not one.settled
    }
    adjusted = dict(zip(p_values, holm(list(p_values.values())), strict=True))
    rows = [
        Row(
            metric=entry.metric,
            setting=entry.setting,
            summaries=entry.summaries,
            differences=[
                one and _difference(entry.metric, one, adjusted.get((place, column)), len(adjusted), confidence)
                for column, one in enumerate(entry.tested)
            ],
        )
        for place, entry in enumerate(entries)
    ]
    return rows, len(adjusted)


def _difference(metric: Metric, one: Tested, p_adjusted: float | None, tests: int, confidence: float) -> Difference:
    ratio = one.ratio.interval if one.ratio else None
    decision: Decision | None = one.settled if metric.tested else None
    if ratio and p_adjusted is not None:
        decision = decide(
            ratio, p_adjusted, margin=_margin(metric, one), better=metric.better, confidence=confidence, tests=tests
        )
    return Difference(
        ratio=ratio,
        delta=one.delta,
        p=one.ratio.p if one.ratio and p_adjusted is not None else None,
        p_adjusted=p_adjusted,
        paired=one.paired,
        margin=_margin(metric, one),
        verdict=decision.verdict if decision else None,
        reason=decision.reason if decision else "not tested",
    )


def _margin(metric: Metric, one: Tested) -> float:
    return metric.margin if one.margin is None else one.margin


def _doubts(sides: Sequence[Side], entries: Sequence[_Entry]) -> list[Warning]:
    of_pairs = [doubt for side in sides[1:] for doubt in doubts_about(sides[0], side)]
    of_runs = doubts_of_runs(sides)
    fewest = min(
        (one.replicates for entry in entries for one in entry.tested if entry.metric.tested and one), default=0
    )
    in_rounds = catalogue(sides[0].manifest.bench).in_rounds
    few = [warnings.few_rounds(fewest, ENOUGH_ROUNDS)] if in_rounds and 0 < fewest < ENOUGH_ROUNDS else []
    if not in_rounds and entries and any(not side.others for side in sides):
        few = [warnings.one_run_a_side([side.name for side in sides if not side.others])]
    if any(doubt.kind == "few_rounds" for doubt in of_runs):
        few = []
    return said_once(of_pairs + few + _unmatched(sides, entries) + of_runs + _outliers(sides, entries))


def _unmatched(sides: Sequence[Side], entries: Sequence[_Entry]) -> list[Warning]:
    """A doubt for each setting that only one of two sides has, and for each metric in a setting that both have."""
    had = [{entry.setting for entry in entries if entry.summaries[index]} for index in range(len(sides))]
    found = []
    for index, side in enumerate(sides[1:], start=1):
        found += [warnings.unmatched(side.name, f"the setting '{setting}'") for setting in sorted(had[0] ^ had[index])]
        found += [
            warnings.unmatched(side.name, f"'{entry.metric.name}' in '{entry.setting}'")
            for entry in entries
            if entry.setting in had[0] & had[index] and bool(entry.summaries[0]) != bool(entry.summaries[index])
        ]
    return found


def _outliers(sides: Sequence[Side], entries: Sequence[_Entry]) -> list[Warning]:
    """Of the catalogue's first metric: what disturbs an invocation shows there."""
    return [
        warnings.outliers(f"{side.name}: {entry.setting}", [str(key[0]) for key in summary.outliers if key])
        for entry in entries
        if entry.metric.id == entries[0].metric.id
        for side, summary in zip(sides, entry.summaries, strict=True)
        if summary and summary.outliers
    ]
