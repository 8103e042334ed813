"""Comparing: from runs to a comparison."""

import zlib
from collections.abc import Mapping, Sequence

import msgspec
import numpy as np

from slotmark import warnings
from slotmark.compare.adjust import holm
from slotmark.compare.comparison import Comparison, Difference, Row, Side, Summary
from slotmark.compare.pairing import pair, replicate_means, replicates
from slotmark.compare.ratio import Ratio, paired_ratio, unpaired_ratio
from slotmark.compare.sides import (
    doubts_about,
    doubts_of_runs,
    in_one_session,
    name_sides,
    refuse_different_work,
    said_once,
)
from slotmark.compare.summary import summarise
from slotmark.compare.verdict import ENOUGH_ROUNDS, Decision, decide
from slotmark.errors import ComparisonError
from slotmark.metrics import Metric, Samples, catalogue, samples
from slotmark.run import Run
from slotmark.warnings import Warning

_FINEST = 20
"""The bootstrap is repeated so often that the smallest p-value, adjusted, is at least this many times below 1 - confidence."""


class _Tested(msgspec.Struct, frozen=True):
    """A difference before p-values are adjusted.

    Attributes:
        ratio: None where it can't be estimated.
        paired: Whether samples were paired by key.
        settled: The verdict and reason where they don't depend on the p-value.
        few: How many replicates there are, where they are too few.
    """

    ratio: Ratio | None
    paired: bool
    settled: Decision | None = None
    few: int | None = None


class _Plan(msgspec.Struct, frozen=True):
    """What all rows of a comparison have in common."""

    sides: list[Side]
    margins: Mapping[str, float]
    confidence: float
    repetitions: int
    seed: int


def compare(
    runs: Sequence[Run],
    *,
    margins: Mapping[str, float] | None = None,
    confidence: float = 0.95,
    repetitions: int = 10_000,
    seed: int = 1,
) -> Comparison:
    """Compares a baseline with candidates, metric by metric and setting by setting. docs/method.md explains the method.

    Args:
        runs: The baseline, then one or more candidates.
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
    sides = name_sides(runs)
    for side in sides[1:]:
        refuse_different_work(sides[0], side)
    metrics = catalogue(sides[0].manifest.bench).metrics
    margins = _checked(margins or {}, metrics)
    sampled = {metric.id: [samples(run, metric.id) for run in runs] for metric in metrics}
    most = (len(sides) - 1) * sum(
        len({setting for one in sampled[metric.id] for setting in one.settings}) for metric in metrics if metric.tested
    )
    plan = _Plan(sides, margins, confidence, max(repetitions, round(_FINEST * most / (1 - confidence))), seed)

    summaries: list[tuple[Metric, str, list[Summary | None]]] = []
    tested: list[list[_Tested | None]] = []
    for metric in metrics:
        for setting in sorted({setting for one in sampled[metric.id] for setting in one.settings}):
            present = [one if setting in one.settings else None for one in sampled[metric.id]]
            summaries.append(
                (
                    metric,
                    setting,
                    [one and summarise(one.of(setting), confidence) for one in present],
                )
            )
            tested.append(
                [
                    _test(plan, metric, setting, (0, index), present[0], one)
                    for index, one in enumerate(present[1:], start=1)
                ]
            )
    rows, tests = _decided(plan, summaries, tested)
    return Comparison(
        bench=sides[0].manifest.bench,
        baseline=sides[0],
        candidates=sides[1:],
        rows=rows,
        tests=tests,
        confidence=confidence,
        repetitions=plan.repetitions,
        seed=seed,
        warnings=_doubts(sides, rows, tested),
    )


def _checked(margins: Mapping[str, float], metrics: Sequence[Metric]) -> Mapping[str, float]:
    known = [metric.id for metric in metrics if metric.tested]
    for metric_id, margin in margins.items():
        if metric_id not in known:
            raise ComparisonError(f"A margin for '{metric_id}', which isn't tested. Tested are: {', '.join(known)}.")
        if not 0 <= margin < float("inf"):
            raise ComparisonError(f"The margin of '{metric_id}' is {margin}, but it's a fraction from 0 on. Try 0.02.")
    return margins


def _test(
    plan: _Plan,
    metric: Metric,
    setting: str,
    which: tuple[int, int],
    baseline: Samples | None,
    candidate: Samples | None,
) -> _Tested | None:
    """One candidate against the baseline; None where one of them lacks the metric or the setting."""
    if baseline is None or candidate is None:
        return None
    ours, theirs = (plan.sides[index] for index in which)
    paired = in_one_session(ours, theirs)
    if paired:
        try:
            pairs = pair(baseline, candidate, setting, (ours.name, theirs.name))
        except ComparisonError:
            if metric.tested:
                raise
            return _Tested(None, False)
        values = pairs.baseline, pairs.candidate
    else:
        values = baseline.values(setting), candidate.values(setting)
    grouping = replicates(baseline, setting), replicates(candidate, setting)
    fewest = min(len(set(one)) for one in grouping)
    if min(float(one.min()) for one in values) <= 0:
        return _Tested(None, paired, _without_ratio(*values), fewest if fewest < ENOUGH_ROUNDS else None)
    means = [np.exp(replicate_means(np.log(one), group)) for one, group in zip(values, grouping, strict=True)]
    ratio = None
    if fewest > 1:
        estimate = paired_ratio if paired else unpaired_ratio
        ratio = estimate(
            *means,
            confidence=plan.confidence,
            repetitions=plan.repetitions,
            seed=[plan.seed, zlib.crc32(metric.id.encode()), zlib.crc32(setting.encode())],
        )
    if fewest >= ENOUGH_ROUNDS:
        return _Tested(ratio, paired)
    of_what = metric.grain[0] if metric.grain else "sample"
    reason = (
        f"{fewest} {of_what}{'s' if fewest != 1 else ''} can't tell a difference from noise; {ENOUGH_ROUNDS} are needed"
    )
    return _Tested(ratio, paired, Decision("inconclusive", reason), fewest)


def _without_ratio(baseline: np.ndarray, candidate: np.ndarray) -> Decision:
    """The verdict where some values are not above zero."""
    first = baseline[0]
    if (baseline == first).all() and (candidate == first).all():
        return Decision("equivalent", f"all samples of both are {first:g}")
    return Decision(
        "inconclusive",
        f"some samples are zero or below, so there is no ratio; the medians are {np.median(baseline):.3g} and {np.median(candidate):.3g}",
    )


def _decided(
    plan: _Plan,
    summaries: Sequence[tuple[Metric, str, list[Summary | None]]],
    tested: Sequence[Sequence[_Tested | None]],
) -> tuple[list[Row], int]:
    """The rows with their verdicts, and over how many tests p-values were adjusted."""
    family = [
        (row, column)
        for row, (metric, _, _) in enumerate(summaries)
        for column, one in enumerate(tested[row])
        if metric.tested and one is not None and one.ratio is not None and one.settled is None
    ]
    p_values = [one.ratio.p for row, column in family if (one := tested[row][column]) and one.ratio]
    adjusted = dict(zip(family, holm(p_values), strict=True))
    rows = []
    for row, (metric, setting, of_sides) in enumerate(summaries):
        differences = [
            None if one is None else _difference(plan, metric, one, adjusted.get((row, column)), len(family))
            for column, one in enumerate(tested[row])
        ]
        rows.append(Row(metric=metric, setting=setting, summaries=of_sides, differences=differences))
    return rows, len(family)


def _difference(plan: _Plan, metric: Metric, one: _Tested, p_adjusted: float | None, tests: int) -> Difference:
    margin = plan.margins.get(metric.id, metric.margin)
    decision = one.settled
    if one.ratio is not None and p_adjusted is not None:
        decision = decide(
            one.ratio.interval,
            p_adjusted,
            margin=margin,
            better=metric.better,
            confidence=plan.confidence,
            tests=tests,
        )
    if not metric.tested:
        decision = None
    return Difference(
        ratio=one.ratio and one.ratio.interval,
        p=one.ratio.p if one.ratio and p_adjusted is not None else None,
        p_adjusted=p_adjusted,
        paired=one.paired,
        margin=margin,
        verdict=decision and decision.verdict,
        reason=decision.reason if decision else "not tested",
    )


def _doubts(sides: Sequence[Side], rows: Sequence[Row], tested: Sequence[Sequence[_Tested | None]]) -> list[Warning]:
    found = [doubt for side in sides[1:] for doubt in doubts_about(sides[0], side)]
    few = [
        one.few
        for row, differences in zip(rows, tested, strict=True)
        for one in differences
        if row.metric.tested and one and one.few
    ]
    of_runs = doubts_of_runs(sides)
    if few and not any(doubt.kind == "few_rounds" for doubt in of_runs):
        found.append(warnings.few_rounds(min(few), ENOUGH_ROUNDS))
    return said_once(found + _unmatched(sides, rows) + of_runs + _outliers(sides, rows))


def _unmatched(sides: Sequence[Side], rows: Sequence[Row]) -> list[Warning]:
    """A doubt a candidate and setting that only one of the two has, and a metric where they share the setting."""
    had = [{row.setting for row in rows if row.summaries[index]} for index in range(len(sides))]
    found = []
    for index, side in enumerate(sides[1:], start=1):
        found += [warnings.unmatched(side.name, f"'{setting}'") for setting in sorted(had[0] ^ had[index])]
        for row in rows:
            lacking = (row.summaries[0] is None) != (row.summaries[index] is None)
            if lacking and row.setting in had[0] & had[index]:
                found.append(warnings.unmatched(side.name, f"'{row.metric.name}' in '{row.setting}'"))
    return found


def _outliers(sides: Sequence[Side], rows: Sequence[Row]) -> list[Warning]:
    """Of the catalogue's first metric: what disturbs an invocation shows there."""
    return [
        warnings.outliers(f"{side.name}: {row.setting}", [str(key[0]) for key in summary.outliers if key])
        for row in rows
        if row.metric == rows[0].metric
        for side, summary in zip(sides, row.summaries, strict=True)
        if summary is not None and summary.outliers
    ]
