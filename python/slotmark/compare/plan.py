"""Planning: from runs to the efforts that a decision takes, by each design whose spread they show, and the differences that comparisons of such runs could find. docs/how-many-runs.md explains it."""

from collections.abc import Collection, Mapping, Sequence
from contextlib import ExitStack

import msgspec

from slotmark import warnings
from slotmark.compare.compare import analysed, with_warnings
from slotmark.compare.deciding.policy import Policy
from slotmark.compare.earlier import Source, prior_of
from slotmark.compare.estimators.means import variations_of
from slotmark.compare.estimators.reach import Chance, Tests, Variation, planned, units_for
from slotmark.compare.matching.paired_runs import pairs_of, without_spoilt
from slotmark.compare.matching.sides import name_sides, refuse_unlike_runs
from slotmark.compare.mixed import chance, differs_by_place, mixed_rounds, who_ran
from slotmark.compare.result import Side
from slotmark.compare.results.plan import Effort, Plan, Shown, Unknown, Wanted
from slotmark.compare.results.rows import Design
from slotmark.compare.traits import traits_of
from slotmark.errors import ComparisonError, did_you_mean
from slotmark.metrics import Analysis, Catalogue, Filter, Metric, catalogue
from slotmark.run import Run


def plan(
    groups: Sequence[Sequence[Run]],
    *,
    detect: Mapping[str, float] | None = None,
    policy: Policy | None = None,
    run_to_run: Source | None = None,
    filters: Sequence[Filter] | None = None,
    confidence: float = 0.95,
) -> Plan:
    """Returns the efforts that a decision takes with runs such as these, by each design, and the differences that they could show.

    Args:
        groups: The runs of each build, which differ by chance alone; how much is pooled over builds. Rounds that builds took in turns, and rounds in which two
            shared one cluster, show the spread of those designs.
        detect: Differences to be found, by metric id, as shares of the mean.
        policy: Which metrics decide, and by which margins; None for the catalogue's.
        run_to_run: A table of how much runs of one build differ, a folder of earlier runs, or such runs; None for the table that comes with slotmark for their cluster, if there
            is one.
        filters: What of each run is analysed; None for what each run's own profile says.
        confidence: Confidence of verdicts, as a fraction.

    Raises:
        ComparisonError: The runs did different work, none of their metrics is compared by means of runs, or a difference is asked of an unknown metric or
            isn't above 0.
        RunError: A run is damaged.
    """
    if not any(groups):
        raise ComparisonError("A plan needs at least one run.")
    groups = [group for group in groups if group]
    chosen = policy or Policy()
    refuse_unlike_runs(groups)
    entries = catalogue(groups[0][0].manifest.bench)
    metrics = [one for one in chosen.applied(entries.metrics) if traits_of(one.estimator).means_of_runs and one.tested]
    if not metrics:
        raise ComparisonError(
            f"Metrics of bench '{entries.bench}' aren't compared by means of runs, so there is nothing to plan here. "
            "`slotmark compare` of two of its runs shows how many more are needed."
        )
    shared = [run for group in groups for run in group if run.manifest.mixed]
    rounds, left_out = mixed_rounds(shared) if shared else ([], [])
    apart: list[list[Run]] = []
    for group in groups:
        whole, spoilt = without_spoilt([run for run in group if not run.manifest.mixed])
        apart += [whole] if whole else []
        left_out += spoilt
    of_mixed = chosen.applied([*entries.metrics, *entries.mixed.metric]) if entries.mixed else []
    wanted = dict(detect or {})
    _refuse_unknown(wanted, [*metrics, *(one for one in of_mixed if one not in metrics and one.tested)])
    kept = [*apart, *([rounds] if rounds else [])]
    if not kept:
        raise ComparisonError(
            f"None of these runs can be planned with: {warnings.without_others(left_out)} Measure more."
        )
    with ExitStack() as stack:
        analyses = [[stack.enter_context(Analysis(run, filters=filters)) for run in group] for group in kept]
        pairs = pairs_of(apart, analyses[: len(apart)])
        prior = prior_of(apart, run_to_run, chosen, filters) if apart else None
        variations, chances = variations_of(metrics, analyses[: len(apart)], prior, pairs)
        swaps = _chances_of_rounds(rounds, entries, of_mixed, analyses[-1], confidence) if rounds else []
        sides = [
            with_warnings(analysed([side], [of_side]), [[one for each in of_side for one in each.warnings()]], [])[0]
            for side, of_side in zip(_named(kept), analyses, strict=True)
        ]
    chances = [*(one.chance for one in variations if one.chance), *chances, *swaps]
    unit_s = _unit_s(apart, rounds)
    _refuse_unrecorded(wanted, chances, sides[0].filters)
    tests = _tests([one.metric for one in variations], confidence)
    of_swaps = _tests([one.metric for one in swaps], confidence)
    shown = [
        Shown(
            metric=first.metric,
            part=first.part,
            margin=first.margin,
            efforts=[_effort(one, one.to_ship(), unit_s) for one in of_metric],
        )
        for of_metric in _by_metric(chances)
        if (first := of_metric[0]).metric.rank == "decisive"
    ]
    known = {one.metric.id for one in chances}
    lacking = [one.name for one in metrics if apart and one.rank == "decisive" and one.id not in known]
    return Plan(
        bench=entries.bench,
        sides=sides,
        policy=chosen.name,
        decision=_decision(shown, variations, unit_s),
        shown=shown,
        wanted=[
            _wanted(entries, of_metric, wanted[of_metric[0].metric.id], variations, tests, of_swaps, unit_s)
            for of_metric in _by_metric(chances)
            if of_metric[0].metric.id in wanted
        ],
        unknown=_unknown(entries, {one.design for one in chances}, groups),
        planned=planned(variations, tests) if variations else None,
        warnings=[*left_out, *(prior.warnings if prior else []), *([warnings.unplanned(lacking)] if lacking else [])],
        confidence=confidence,
    )


def _named(groups: Sequence[Sequence[Run]]) -> list[Side]:
    """Returns a side per build, and one for both builds of mixed rounds."""
    return [
        msgspec.structs.replace(side, name=f"{' beside '.join(both)} ({len(side.manifests)} mixed rounds)")
        if (both := side.manifest.mixed)
        else side
        for side in name_sides(groups)
    ]


def _chances_of_rounds(
    rounds: Sequence[Run],
    entries: Catalogue,
    metrics: Sequence[Metric],
    analyses: Sequence[Analysis],
    confidence: float,
) -> list[Chance]:
    """Returns the variation of the difference of two builds in one cluster, metric by metric."""
    mixed = entries.mixed
    if mixed is None:
        raise ComparisonError(
            f"{rounds[0].place}: two targets shared this run, but bench '{entries.bench}' has no way to keep them apart. Leave it out."
        )
    ran, names = who_ran(rounds, mixed), rounds[0].manifest.mixed
    found = (
        chance(one, mixed, names, analyses, ran, confidence)
        for one in metrics
        if one.tested and differs_by_place(one, mixed)
    )
    return [one for one in found if one]


def _tests(metrics: Sequence[Metric], confidence: float) -> Tests:
    return Tests(len(metrics), sum(one.rank == "decisive" for one in metrics), confidence)


def _by_metric(chances: Sequence[Chance]) -> list[list[Chance]]:
    """The designs of each metric and part together."""
    found: dict[tuple[str, str], list[Chance]] = {}
    for one in chances:
        found.setdefault((one.metric.id, one.part), []).append(one)
    return list(found.values())


def _unit_s(apart: Sequence[Sequence[Run]], rounds: Sequence[Run]) -> dict[Design, float | None]:
    """Returns the time that one unit of a design takes, by the runs that are there; None where it isn't recorded."""
    single = _mean_s([run for group in apart for run in group])
    both = None if single is None else 2 * single
    return {"runs": both, "paired rounds": both, "mixed rounds": _mean_s(rounds)}


def _mean_s(runs: Sequence[Run]) -> float | None:
    took = [took_s for run in runs if (took_s := run.manifest.took_s) is not None]
    return sum(took) / len(took) if took else None


def _effort(chance: Chance, count: int | None, unit_s: Mapping[Design, float | None]) -> Effort:
    return _takes(chance.design, count, unit_s, at_least=chance.at_least)


def _takes(design: Design, count: int | None, unit_s: Mapping[Design, float | None], *, at_least: bool) -> Effort:
    one_s = unit_s.get(design)
    takes_s = None if count is None or one_s is None else count * one_s
    return Effort(design=design, count=count, at_least=at_least, takes_s=takes_s)


def _decision(
    shown: Sequence[Shown], variations: Sequence[Variation], unit_s: Mapping[Design, float | None]
) -> list[Effort]:
    """Returns the effort that decides all decisive metrics, by each design that shows all that it compares."""
    of_runs = sum(one.metric.rank == "decisive" for one in variations)
    found: dict[Design, list[Effort]] = {}
    for one in shown:
        for effort in one.efforts:
            found.setdefault(effort.design, []).append(effort)
    made = []
    for design, efforts in found.items():
        if design != "mixed rounds" and len(efforts) < of_runs:
            continue
        counts = [one.count for one in efforts]
        most = None if None in counts else max(count for count in counts if count is not None)
        made.append(_takes(design, most, unit_s, at_least=any(one.at_least for one in efforts)))
    return made


def _wanted(
    entries: Catalogue,
    chances: Sequence[Chance],
    change: float,
    variations: Sequence[Variation],
    tests: Tests,
    of_swaps: Tests,
    unit_s: Mapping[Design, float | None],
) -> Wanted:
    """Returns the efforts that find a difference in one metric."""
    first = chances[0]
    level, of_rounds = tests.level(first.metric), of_swaps.level(first.metric)
    varies = next((one for one in variations if (one.metric.id, one.part) == (first.metric.id, first.part)), None)
    return Wanted(
        metric=first.metric,
        part=first.part,
        change=change,
        efforts=[
            _effort(one, one.to_find(change, of_rounds if one.design == "mixed rounds" else level), unit_s)
            for one in chances
        ],
        over=varies.over if varies else "",
        units=units_for(varies, change, level) if varies and entries.key(first.metric.unit_of_chance).ordered else None,
    )


def _unknown(entries: Catalogue, shown: Collection[Design], groups: Sequence[Sequence[Run]]) -> list[Unknown]:
    """Returns the designs whose spread the runs don't show. Simulated runs have no day that rounds could take out."""
    found = [] if "runs" in shown else [Unknown(design="runs", remedy="name two runs of one build")]
    if all(run.manifest.origin == "simulated" for group in groups for run in group):
        return found
    if entries.in_turns_by and not {"paired rounds", "paired seeds"} & set(shown):
        found.append(Unknown(design="paired rounds", remedy=f"name the runs of `{entries.in_turns_by}`"))
    if entries.mixed and "mixed rounds" not in shown:
        found.append(Unknown(design="mixed rounds", remedy=f"name the runs of `{entries.mixed.made_by}`"))
    return found


def _refuse_unknown(wanted: Mapping[str, float], metrics: Sequence[Metric]) -> None:
    known = [metric.id for metric in metrics]
    for name, change in wanted.items():
        if name not in known:
            raise ComparisonError(
                f"'{name}' is no metric that is compared.{did_you_mean(name, known)} Compared are: {', '.join(known)}."
            )
        if not change > 0:
            raise ComparisonError(
                f"The difference of '{name}' to find is {change}, but it's a share above 0. Try 0.02."
            )


def _refuse_unrecorded(wanted: Mapping[str, float], chances: Sequence[Chance], filters: Sequence[str]) -> None:
    there = {one.metric.id for one in chances}
    passed = f" in what passes {', '.join(filters)}" if filters else ""
    for name in wanted:
        if name not in there:
            raise ComparisonError(
                f"These runs don't record '{name}'{passed}, or too little to show how it varies, or its mean is 0. Ask of another metric"
                + (", or choose what is analysed with --filter." if filters else ".")
            )
