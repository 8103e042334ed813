"""Comparing: from runs to a comparison. docs/method.md explains the method."""

from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack

import msgspec

from slotmark.compare.attribution.attributing import attributions
from slotmark.compare.clocks import with_clock_warnings
from slotmark.compare.deciding.decision import decide
from slotmark.compare.deciding.policy import Policy
from slotmark.compare.earlier import Source, prior_of
from slotmark.compare.estimators import ESTIMATORS, Entry, Estimate, How, Measured, Task
from slotmark.compare.margins import with_margins
from slotmark.compare.matching.ends import refuse_other_ends
from slotmark.compare.matching.paired_runs import LEAST, whole_rounds
from slotmark.compare.matching.sides import name_sides, refuse_unlike_runs
from slotmark.compare.mixed import (
    both_sides,
    differs_by_place,
    entry,
    is_of_staying,
    mixed_rounds,
    who_ran,
    without_senders,
)
from slotmark.compare.ranking import entries_between_candidates, is_ranked, rank
from slotmark.compare.result import Comparison, Side
from slotmark.compare.results.attribution import Attribution
from slotmark.compare.results.rows import Difference, Row, limits
from slotmark.compare.verdict import judge, judge_amount, withstanding
from slotmark.compare.warnings import between, unlike, within
from slotmark.errors import ComparisonError, RoomError
from slotmark.metrics import Analysis, Filter, Metric, analyses_of, catalogue, side_by_side
from slotmark.numbers import quantity
from slotmark.run import Run
from slotmark.statistics.rank_tests import error_share, holm
from slotmark.verdict import Verdict
from slotmark.warnings import Warning, unexplained
from slotmark.words import listed

Progress = Callable[[int, int, str], None]
"""Called with how many metrics are done, of how many, and what is being done now; may raise to stop."""


class _Work:
    """The progress of a comparison."""

    def __init__(self, total: int, progress: Progress | None) -> None:
        self._begun, self._total, self._progress = 0, total, progress

    def begun(self, metric: str) -> None:
        """Reports that work on a metric begins."""
        self._report(self._begun, metric)
        self._begun += 1

    def last(self, what: str) -> None:
        """Reports what comes after all metrics."""
        self._report(self._total, what)

    def _report(self, done: int, what: str) -> None:
        if self._progress:
            self._progress(done, self._total, what)


def compare(
    runs: Sequence[Run | Sequence[Run]],
    *,
    filters: Sequence[Filter] | None = None,
    margins: Mapping[str, float] | None = None,
    policy: Policy | None = None,
    run_to_run: Source | None = None,
    confidence: float = 0.95,
    comparisons: int = 1,
    at_any_look: bool = False,
    repetitions: int | None = None,
    seed: int = 1,
    threads: int = 2,
    progress: Progress | None = None,
) -> Comparison:
    """Compares a baseline with candidates, metric by metric and part by part; by the catalogue's estimators.

    Args:
        runs: The baseline, then one or more candidates; each a run, or several runs of one target.
        filters: What of each run is analysed, for benches with filters; None for what each run's own profile says.
        margins: Equivalence margins by metric id, as fractions, in place of the policy's.
        policy: Which metrics decide, and how; None for the catalogue's ranks, margins and directions, and for no decision where
            different targets are ranked.
        run_to_run: A table of how much runs of one build differ, as ``slotmark spread`` makes it, a folder of earlier runs, or such runs; None for the table that
            comes with slotmark for their cluster, if there is one.
        confidence: Confidence of every interval, as a fraction; verdicts need p-values below 1 - confidence.
        comparisons: How many share the error rate, this one included, as those of a release do.
        at_any_look: Whether the runs are rounds that come one by one, and are compared after each until they decide: verdicts then hold at all looks together.
        repetitions: Repetitions of the bootstrap; None for as many as the estimators make. More are made where many tests need smaller p-values.
        seed: Seed of the bootstrap; the same seed gives the same comparison, whatever the threads.
        threads: How many candidates may be worked on at a time.
        progress: Called with how many metrics are done, of how many, and what is being done now; may raise to stop.

    Raises:
        ComparisonError: The runs did different work, can't be paired, runs of one side are of other targets, or an argument
            makes no sense.
        RunError: A run is damaged.
    """
    mixed = [run for side in runs for run in ([side] if isinstance(side, Run) else side) if run.manifest.mixed]
    if mixed and len(runs) > 1:
        raise ComparisonError(
            f"{mixed[0].place}: two targets took part in this run together. Name its rounds alone, with commas: each has both sides."
        )
    if len(runs) < 2 and not mixed:
        raise ComparisonError("A comparison needs a baseline and at least one candidate: name two runs or more.")
    if not 0 < confidence < 1:
        raise ComparisonError(f"The confidence is {confidence}, but it's a fraction between 0 and 1. Try 0.95.")
    if seed < 0:
        raise ComparisonError(f"The seed is {seed}, but it's 0 or more.")
    groups = [[run] if isinstance(run, Run) else list(run) for run in runs]
    if not all(groups):
        raise ComparisonError("A side has no run: name one or more on each side.")
    prior = None if at_any_look else prior_of(groups, run_to_run, policy or Policy(), filters)
    how = How(confidence, repetitions, seed, threads, prior, at_any_look)
    compared = _mixed_comparison if mixed else _comparison
    return compared(groups, filters, margins or {}, policy, confidence, how, progress, comparisons)


def alone(run: Run, *, filters: Sequence[Filter] | None = None, confidence: float = 0.95) -> Comparison:
    """A run by itself as a comparison without candidates: its levels, and nothing decided. Raises RunError as :func:`compare`."""
    return _comparison([[run]], filters, {}, None, confidence, How(confidence, None, 1, 1))


def _comparison(
    groups: Sequence[Sequence[Run]],
    filters: Sequence[Filter] | None,
    margins: Mapping[str, float],
    given: Policy | None,
    confidence: float,
    how: How,
    progress: Progress | None = None,
    comparisons: int = 1,
) -> Comparison:
    policy = given or Policy()
    refuse_unlike_runs(groups)
    groups, left_out = whole_rounds(groups)
    sides = name_sides(groups)
    entries = catalogue(sides[0].manifest.bench)
    metrics = with_margins(policy.applied(entries.metrics), margins)
    for metric in metrics:
        if metric.estimator not in ESTIMATORS:
            raise ComparisonError(
                f"{entries.folder / 'catalogue.toml'}: '{metric.id}' has the estimator '{metric.estimator}', which there isn't. "
                f"There are: {', '.join(ESTIMATORS)}."
            )
    work = _Work(len(metrics), progress)
    with ExitStack() as stack:
        analyses = analyses_of(stack, groups, filters)
        sides = analysed(sides, analyses)
        if len(sides) > 1:
            refuse_other_ends(entries.ends, sides, analyses)
        estimates = [
            estimator.estimate(Task(sides, analyses, wanted, how, work.begun))
            for name, estimator in ESTIMATORS.items()
            if (wanted := [metric for metric in metrics if metric.estimator == name])
        ]
        ranked = entries.ranking if is_ranked(entries, sides) else None
        of_ranking = [metric for metric in metrics if ranked and metric.id == ranked.metric]
        between = entries_between_candidates(Task(sides, analyses, of_ranking, how)) if of_ranking else []
        work.last("where differences come from")
        with ThreadPoolExecutor(1) as beside:
            plans = [beside.submit(one.plan) for one in estimates if one.plan]
            come_from, missing = _attributed(sides, analyses, confidence) if entries.explained else ([], [])
        of_sides = warnings_of(analyses)
        made = with_clock_warnings(
            [entry for one in estimates for entry in one.entries],
            entries,
            [one for of_side in analyses for one in of_side],
        )
    places = {metric.id: place for place, metric in enumerate(metrics)}
    entered = sorted(made, key=lambda entry: places[entry.metric.id])
    every, tests = judged([*entered, *between], confidence, comparisons, of_these_runs=policy.asks_of_these_runs)
    rows = every[: len(entered)]
    of_sides = [[*own, *(unlike(entries, rows, place - 1) if place else [])] for place, own in enumerate(of_sides)]
    baseline, *candidates = with_warnings(sides, of_sides, estimates)
    earlier = how.prior.warnings if how.prior else []
    warned = {one.kind for of in ([baseline, *candidates], rows) for each in of for one in each.warnings} & {
        *policy.stopping(entries.bench)
    }
    ranking = (
        rank(entries, [baseline, *candidates], rows, every[len(entered) :], sorted(warned)) if of_ranking else None
    )
    found = Comparison(
        bench=entries.bench,
        ranking=ranking,
        baseline=baseline,
        candidates=candidates,
        rows=rows,
        details=[
            *(plan.result() for plan in plans),
            *(detail for one in estimates for detail in one.details),
            *come_from,
        ],
        tests=tests,
        comparisons=comparisons,
        confidence=confidence,
        repetitions=max(one.repetitions for one in estimates),
        seed=how.seed,
        warnings=[*left_out, *earlier, *(warning for one in estimates for warning in one.warnings), *missing],
    )
    decision = None if ranking and given is None else decide(found, metrics, policy)
    return msgspec.structs.replace(found, decision=decision)


def _attributed(
    sides: Sequence[Side], analyses: Sequence[Sequence[Analysis]], confidence: float
) -> tuple[list[Attribution], list[Warning]]:
    """Returns where differences come from; where there is no room to work that out, a warning: everything else is there by then."""
    try:
        return attributions([side.name for side in sides[1:]], analyses, confidence), []
    except RoomError as error:
        return [], [unexplained(str(error))]


def _mixed_comparison(
    groups: Sequence[Sequence[Run]],
    filters: Sequence[Filter] | None,
    margins: Mapping[str, float],
    given: Policy | None,
    confidence: float,
    how: How,
    progress: Progress | None,
    comparisons: int,
) -> Comparison:
    """Two targets that shared the hosts of one cluster in every round: both sides are of the same runs."""
    policy = given or Policy()
    refuse_unlike_runs(groups)
    runs, left_out = mixed_rounds(groups[0])
    entries = catalogue(groups[0][0].manifest.bench)
    if entries.mixed is None or len(runs) < LEAST:
        raise ComparisonError(
            f"{len(runs)} of these rounds can be compared, and targets swap their places from one round to the next: name {LEAST} rounds or more, with commas."
        )
    mixed, ran = entries.mixed, who_ran(runs, entries.mixed)
    every = with_margins(policy.applied([*entries.metrics, *mixed.metric]), margins)
    metrics = [metric for metric in every if differs_by_place(metric, mixed)]
    left = [metric.name for metric in every if metric not in metrics and metric.rank == "decisive"]
    with ExitStack() as stack:
        (analyses,) = analyses_of(stack, [runs], filters)
        stay = [metric for metric in metrics if is_of_staying(metric, mixed, analyses, ran)]
        metrics = [metric for metric in metrics if metric not in stay]
        work = _Work(len(metrics), progress)
        sides = both_sides(runs, *analysed([Side("", runs[0].manifest)], [analyses]))
        found_entries = []
        for metric in metrics:
            work.begun(metric.name)
            if row := entry(metric, mixed, runs[0].manifest.mixed, analyses, ran, confidence):
                found_entries.append(row)
        of_run = warnings_of([analyses])
        lacking = without_senders(mixed, analyses, ran)
    rows, tests = judged(found_entries, confidence, comparisons)
    baseline, *candidates = with_warnings(sides, [*of_run, unlike(entries, rows, 0)], [])
    names = [metric.name for metric in stay if metric.rank == "decisive"]
    what = f" Of {mixed.place}s that were not swapped, and not compared: {listed(names)}." if names else ""
    what += f" {listed(left)} are of the whole run and not compared." if left else ""
    remarks = [*left_out, *entries.warnings_on("mixed", left=what)]
    if lacking:
        remarks += entries.warnings_on("senders_unknown", targets=lacking)
    found = Comparison(
        bench=entries.bench,
        baseline=baseline,
        candidates=candidates,
        rows=rows,
        tests=tests,
        comparisons=comparisons,
        confidence=confidence,
        repetitions=0,
        seed=how.seed,
        warnings=remarks,
    )
    return msgspec.structs.replace(found, decision=decide(found, metrics, policy))


def analysed(sides: Sequence[Side], analyses: Sequence[Sequence[Analysis]]) -> list[Side]:
    """The sides with what is analysed of their runs, and what follows from the tables of the first run of each."""
    firsts = [of_side[0] for of_side in analyses]
    with side_by_side(firsts) as pool:
        facts = pool.map(Analysis.facts, firsts)
        return [
            msgspec.structs.replace(side, filters=[str(one) for one in first.filters], facts=shown)
            for side, first, shown in zip(sides, firsts, facts, strict=True)
        ]


def warnings_of(analyses: Sequence[Sequence[Analysis]]) -> list[list[Warning]]:
    """Returns what the analyses of each side warn of."""
    every = [analysis for of_side in analyses for analysis in of_side]
    with side_by_side(every) as pool:
        found = pool.map(Analysis.warnings, every)
        return [[warning for _ in of_side for warning in next(found)] for of_side in analyses]


def with_warnings(
    sides: Sequence[Side],
    of_runs: Sequence[list[Warning]],
    estimates: Sequence[Estimate],
    first: str = "the baseline",
) -> list[Side]:
    """The sides with the warnings about each. What an estimator warns of, a manifest doesn't warn of once more.

    Args:
        sides: All; others are held against the first.
        of_runs: Warnings of each side's runs.
        estimates: With their own warnings.
        first: The words for the first side.
    """
    warned = {warning.kind for one in estimates for warning in one.warnings}
    made = []
    for place, (side, of_side) in enumerate(zip(sides, of_runs, strict=True)):
        own = [warning for one in estimates if one.of_sides for warning in one.of_sides[place]]
        kinds = warned | {warning.kind for warning in own}
        differing = between(sides[0], side, first) if place else []
        recorded = [
            warning for manifest in side.manifests for warning in manifest.warnings if warning.kind not in kinds
        ]
        found = [*own, *differing, *within(side), *of_side, *recorded]
        made.append(msgspec.structs.replace(side, warnings=list(dict.fromkeys(found))))
    return made


def judged(
    entries: Sequence[Entry], confidence: float, comparisons: int = 1, *, of_these_runs: bool = False
) -> tuple[list[Row], int]:
    """Returns the rows with their verdicts, and over how many tests p-values were adjusted.

    Args:
        entries: Rows before their verdicts.
        confidence: Confidence of the intervals, as a fraction.
        comparisons: How many comparisons share the error rate, this one included.
        of_these_runs: Whether verdicts of single runs are asked for though they hold for these runs only: then a drift that noise may hide keeps none back.
    """
    p_values = {
        (place, column): one.p
        for place, entry in enumerate(entries)
        for column, one in enumerate(entry.measured)
        if one and one.p is not None and one.tested
    }
    decides = [entries[place].metric.rank == "decisive" for place, _ in p_values]
    shares = [error_share(len(decides), sum(decides), decides=one) for one in decides]
    of_one = holm(list(p_values.values()), shares)
    adjusted = dict(zip(p_values, (min(1.0, comparisons * p) for p in of_one), strict=True))
    rows = [
        Row(
            metric=entry.metric,
            part=entry.part,
            quantity=entry.quantity,
            summaries=entry.summaries,
            fitted=entry.fitted,
            differences=[
                one
                and _difference(
                    entry.metric,
                    one,
                    adjusted.get((place, column)),
                    len(adjusted),
                    confidence,
                    of_these_runs=of_these_runs,
                )
                for column, one in enumerate(entry.measured)
            ],
            warnings=entry.warnings,
        )
        for place, entry in enumerate(entries)
    ]
    return rows, len(adjusted)


def _difference(
    metric: Metric, one: Measured, p_adjusted: float | None, tests: int, confidence: float, *, of_these_runs: bool
) -> Difference:
    margin = metric.margin if one.margin is None else one.margin
    judgement = None if one.shown else one.settled
    if one.ratio and p_adjusted is not None:
        judgement = judge(
            one.ratio,
            p_adjusted,
            margin=margin,
            margin_words="" if one.margin_absolute is None else quantity(one.margin_absolute, metric.unit),
            better=metric.better,
            confidence=confidence,
            tests=tests,
            bound=one.p_is_bound,
        )
        if one.widest and one.basis and not of_these_runs:
            within = limits(margin, absolute=one.margin_absolute is not None)
            judgement = withstanding(judgement, one.widest, within=within, over=one.basis.over)
    elif one.delta and one.delta_bounds and p_adjusted is not None:
        judgement = judge_amount(
            one.delta, one.delta_bounds, p_adjusted, metric=metric, confidence=confidence, tests=tests
        )
    return Difference(
        ratio=one.ratio,
        bounds=one.bounds,
        delta=one.delta,
        p=None if p_adjusted is None else one.p,
        p_adjusted=p_adjusted,
        p_is_bound=one.p_is_bound and p_adjusted is not None,
        paired=one.paired,
        margin=margin,
        margin_absolute=one.margin_absolute,
        verdict=judgement.verdict if judgement else None,
        reason=judgement.reason if judgement else one.shown or "not tested",
        drift=judgement.drift if judgement else None,
        conditional=one.conditional and judgement is not None and judgement.verdict != Verdict.UNDECIDED,
        basis=one.basis,
        detail=one.detail,
    )
