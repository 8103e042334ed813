"""Looks at rounds that are made until they decide: a comparison of all rounds so far, whose verdicts hold at all looks together."""

from collections.abc import Callable, Mapping, Sequence

from slotmark.compare.compare import Progress, compare
from slotmark.compare.deciding.policy import Policy
from slotmark.compare.matching.sides import refuse_unlike_runs
from slotmark.compare.result import Comparison
from slotmark.compare.results.decision import Cause, Decision
from slotmark.compare.traits import traits_of
from slotmark.errors import ComparisonError
from slotmark.metrics import Filter, catalogue
from slotmark.run import Run
from slotmark.words import counted, few, listed

CONFIDENCE = 0.99
"""Confidence over all looks: of equal builds at most 1 of 100 has a metric that is ever called better or worse."""

_NAMED = 3


def look(
    groups: Sequence[Sequence[Run]],
    *,
    filters: Sequence[Filter] | None = None,
    margins: Mapping[str, float] | None = None,
    policy: Policy | None = None,
    seed: int = 1,
    progress: Progress | None = None,
) -> tuple[Comparison, Decision]:
    """Compares the rounds so far, with what follows for the candidate; arguments and errors as of :func:`slotmark.compare.compare`.

    Raises:
        ComparisonError: No metric is decisive, or the runs don't record one that is: no number of rounds would decide.
    """
    found = compare(
        groups,
        filters=filters,
        margins=margins,
        policy=policy or Policy(),
        confidence=CONFIDENCE,
        at_any_look=True,
        seed=seed,
        progress=progress,
    )
    if found.decision is None:
        raise ComparisonError(
            "No metric of these runs is decisive, so no number of rounds decides. Rank some in a file for --policy."
        )
    for cause in undecided(found.decision):
        rows = [row for row in found.rows if row.metric.id == cause.metric]
        if not any(one and one.verdict for row in rows for one in row.differences):
            raise ComparisonError(
                f"'{cause.name}' decides, but nothing can be compared in it: {cause.reason}. Rank it otherwise in a file for --policy."
            )
    return found, found.decision


def undecided(found: Decision) -> list[Cause]:
    """Returns the decisive metrics that more rounds may decide, each as the cause that it is."""
    return [cause for cause in found.causes if cause.metric and cause.answer == "run again" and not cause.lasting]


def rounds_needed(found: Decision) -> int | None:
    """Returns about how many more rounds decide all metrics; 0 where none are needed, None where that is unknown for one."""
    needed = [cause.needed for cause in undecided(found)]
    known = [one.more for one in needed if one is not None]
    return None if len(known) < len(needed) else max(known, default=0)


def in_words(found: Decision) -> str:
    """Returns which decisive metrics more rounds may decide, and about how many those are, in words."""
    causes = undecided(found)
    if not causes:
        return "all decisive metrics are decided"
    names = few(list(dict.fromkeys(cause.title for cause in causes)), _NAMED)
    more = rounds_needed(found)
    return f"no verdict yet on {listed(names)}" + (f"; about {counted(more, 'more round')}" if more else "")


def checking(bench_policy: Callable[[str], object]) -> Callable[[Sequence[Sequence[Run]]], None]:
    """Returns what raises ComparisonError where the runs of a new round can't be looked at beside those before it.

    Args:
        bench_policy: Called with the bench's name; raises where the policy isn't one for that bench.
    """

    def check(groups: Sequence[Sequence[Run]]) -> None:
        for run in (run for group in groups for run in group):
            if run.manifest.mixed:
                raise ComparisonError(
                    f"{run.place}: two targets took part in this run together, and here each command makes runs of one. Make mixed rounds first, and compare them without --until-decided."
                )
        bench = groups[0][0].manifest.bench
        if not decides_by_rounds(bench):
            raise ComparisonError(
                f"Metrics of bench '{bench}' aren't compared by means of runs, so --until-decided can't be used for it. "
                "Use --rounds of its own command."
            )
        try:
            refuse_unlike_runs(groups)
        except ComparisonError as error:
            if any(len({run.manifest.content for run in group}) < len(group) for group in groups):
                raise ComparisonError(
                    f"{error} Put {{round}} in the command, as --seed {{round}}, where the same words make the same run."
                ) from error
            raise
        bench_policy(bench)

    return check


def decides_by_rounds(bench: str) -> bool:
    """Returns whether a bench has metrics that are compared by means of runs: only of these a run is a unit."""
    return any(traits_of(metric.estimator).means_of_runs for metric in catalogue(bench).metrics if metric.tested)
