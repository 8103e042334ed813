"""The decision about a candidate: ship, hold or run again, from the rows of a comparison and a policy. docs/decision.md explains it."""

from collections.abc import Callable, Iterator, Sequence

import msgspec
import numpy as np

from slotmark.cleaning import one_line
from slotmark.compare.policy import Accepted, Policy
from slotmark.compare.result import Comparison, Side, origin_in_line
from slotmark.compare.results.decision import Answer, Cause, Decision, Needed
from slotmark.compare.results.rows import ALL, FROM_RUNS, NOT_KNOWN, Basis, Difference, Quantity, Row, limits
from slotmark.compare.traits import joined_words, traits_of
from slotmark.metrics import Metric
from slotmark.numbers import percent, percent_change, quantity, signed_quantity
from slotmark.statistics.anytime import FIRST_LOOK, limit_of_looks
from slotmark.statistics.distributions import t_isf
from slotmark.statistics.interval import BOUNDS, Interval
from slotmark.statistics.planning import POWER, size_needed
from slotmark.statistics.rank_tests import error_share
from slotmark.verdict import Conditional, Verdict
from slotmark.warnings import ENOUGH_RUNS, SHOWING_ROUNDS
from slotmark.words import few, listed

HALF = 0.5
"""The share of sessions that as many rounds as are named decide, where rounds come one by one: those that they don't go on."""

_RUNS = "runs of one build"
"""The subject of what tips: named once in a line."""

NAMED = 3
"""The most metrics that are named in the line; the causes have all."""


def decide(found: Comparison, metrics: Sequence[Metric], policy: Policy) -> Decision | None:
    """The decision about all candidates of a comparison; None where no metric is decisive, or there is no candidate.

    Where the policy doesn't need all of them, metrics that nothing was compared in aren't decisive.

    - hold: a decisive metric is worse, and that isn't accepted;
    - ship: every decisive metric is shown not to be worse by more than its margin: the end of its 98 % interval that is worse lies within;
    - run again: all else.

    Args:
        found: The comparison, of which nothing is decided yet.
        metrics: All of the bench, with the policy's ranks.
        policy: How is decided.
    """
    decisive = [metric for metric in metrics if metric.rank == "decisive" and metric.tested]
    if not policy.needs_all:
        compared = [row.metric for row in found.rows if any(one and one.verdict for one in row.differences)]
        decisive = [metric for metric in decisive if metric in compared]
    if not decisive or not found.candidates:
        return None
    rows = [row for row in found.rows if row.metric in decisive]
    known = variation_in_words(rows)
    causes: list[Cause] = []
    answers: list[Answer] = []
    used: dict[str, Accepted] = {}
    for place, side in enumerate(found.candidates):
        accepted = {one.metric: one for one in policy.accepted if all(map(one.applies, side.manifests))}
        used |= {one.metric: one for one in accepted.values() if any(row.metric.id == one.metric for row in rows)}
        of_side = [*_causes(found, rows, place, policy, accepted)]
        if policy.needs_all or not any((one := row.differences[place]) and one.verdict for row in rows):
            of_side += _missing(decisive, rows, place, side.name)
        if policy.needs_all:
            known_by = {(cause.metric, cause.part, cause.quantity) for cause in of_side}
            others = [row for row in rows if (row.metric.id, row.part, row.quantity) not in known_by]
            of_side += _in_some_runs(found, others, place)
        of_side += _of_warnings(found, rows, side, policy)
        answer: Answer = "ship"
        if of_side:
            answer = "hold" if any(cause.answer == "hold" for cause in of_side) else "run again"
        causes += of_side
        answers.append(answer)
    notes = [f"{one.metric} until {one.until}: {one.reason}" for one in used.values()]
    return Decision(
        answer=together(answers),
        line=_line(found, answers, causes, len(decisive), _rests_on(found, rows, causes, known), accepted=bool(notes)),
        policy=policy.name,
        answers=answers,
        reasons=[
            _why(answer, [one for one in causes if one.candidate == side.name], len(decisive), bool(notes))
            for side, answer in zip(found.candidates, answers, strict=True)
        ],
        causes=causes,
        accepted=notes,
        decisive=len(decisive),
        run_to_run=known,
    )


def variation_in_words(rows: Sequence[Row]) -> str:
    """From what it is known how much runs of one build differ, in words; empty where no mean of a run is compared."""
    bases = [
        one.basis
        for row in rows
        if traits_of(row.metric.estimator).means_of_runs
        for one in row.differences
        if one and one.basis
    ]
    if not bases:
        return ""
    sources = list(dict.fromkeys(basis.source for basis in bases if basis.unit.pooled))
    words = [
        f"from runs of this comparison{source.removeprefix(FROM_RUNS)}"
        if source.startswith(FROM_RUNS)
        else f"assumed: {source}"
        for source in sources
    ]
    words += joined_words({basis.over for basis in bases})
    unknown = any(not basis.of_runs for basis in bases)
    return "; ".join([*words, *([NOT_KNOWN if not words else "of the other metrics not known"] if unknown else [])])


def _rests_on(found: Comparison, rows: Sequence[Row], causes: Sequence[Cause], known: str) -> str:
    """Returns the words in the line where verdicts rest on an assumption, or on single runs alone; empty where runs show it."""
    if "assumed" in known or " and " in known:
        return f"run-to-run variation {known}"
    undecided = {(cause.metric, cause.part, cause.candidate) for cause in causes if cause.answer == "run again"}
    alone = [
        (row.metric.id, row.part, side.name)
        for row in rows
        for side, one in zip(found.candidates, row.differences, strict=True)
        if one and one.verdict and _is_of_single_runs(row, one)
    ]
    counted = any(one not in undecided for one in alone)
    return "conditional on these runs: how much runs of one build differ is not known" if counted else ""


def together(answers: Sequence[Answer]) -> Answer:
    """Returns the answer about several things at once: what stops the release first. Nothing ships where nothing was asked."""
    return "hold" if "hold" in answers else "run again" if "run again" in answers or not answers else "ship"


def _causes(
    found: Comparison, rows: Sequence[Row], place: int, policy: Policy, accepted: dict[str, Accepted]
) -> Iterator[Cause]:
    """Returns the reasons why rows that have a verdict don't let ship."""
    for row in rows:
        difference = row.differences[place]
        if difference is not None and difference.verdict is not None:
            name = found.candidates[place].name
            cause = _of_row(found, row, difference, name, policy, accepted.get(row.metric.id))
            if cause is not None:
                yield cause


def _missing(decisive: Sequence[Metric], rows: Sequence[Row], place: int, name: str) -> Iterator[Cause]:
    """Decisive metrics without any verdict, and parts that the candidate lacks."""
    for metric in decisive:
        of_metric = [row for row in rows if row.metric == metric]
        if not any((one := row.differences[place]) and one.verdict for row in of_metric):
            yield _cause(
                metric, ALL, None, name, "run again", "not compared: a side, or one of its runs, has no sample of it"
            )
            continue
        for row in of_metric:
            if row.summaries[0] is not None and row.summaries[place + 1] is None:
                reason = "not compared: the candidate doesn't have it"
                yield _cause(metric, row.part, row.quantity, name, "run again", reason)


def _in_some_runs(found: Comparison, rows: Sequence[Row], place: int) -> Iterator[Cause]:
    """Decisive metrics whose means of runs are compared, and that some runs of a side lack: those may be the ones that went wrong."""
    sides = {0: found.baseline, place + 1: found.candidates[place]}
    for row in rows:
        if row.differences[place] is None or not traits_of(row.metric.estimator).means_of_runs:
            continue
        for of_side, side in sides.items():
            summary = row.summaries[of_side]
            if summary and summary.runs < len(side.manifests):
                reason = f"only {summary.runs} of {len(side.manifests)} runs of {side.name} have it"
                cause = _cause(row.metric, row.part, row.quantity, found.candidates[place].name, "run again", reason)
                yield msgspec.structs.replace(cause, lasting=True)
                break


def _of_row(
    found: Comparison, row: Row, difference: Difference, name: str, policy: Policy, accepted: Accepted | None
) -> Cause | None:
    """Returns the reason why a decisive row doesn't let ship; None where it does."""
    if accepted is not None and accepted.up_to is None:
        return None
    margin = max(difference.margin, accepted.up_to or 0.0) if accepted else difference.margin
    conditional = _conditional(difference)
    single = _is_of_single_runs(row, difference)
    may = policy.conditional or (Conditional.INCONCLUSIVE if single else Conditional.HOLD)
    counts = not conditional or may != Conditional.INCONCLUSIVE
    is_worse = _is_worse(row.metric, difference, margin)
    if is_worse and counts:
        reason = _by_how_much(row.metric, difference, margin)
        return _cause(row.metric, row.part, row.quantity, name, "hold", reason)
    if single and may != Conditional.COUNT:
        reason, tips = _tipping(found, row.metric, difference, margin)
        if reason:
            return msgspec.structs.replace(
                _cause(row.metric, row.part, row.quantity, name, "run again", reason),
                needed=_enough_runs(row, difference.basis),
                conditional=True,
                tips_at=tips,
            )
    if not _not_worse(row.metric, difference, margin):
        return msgspec.structs.replace(
            _cause(row.metric, row.part, row.quantity, name, "run again", _why_open(row.metric, difference, margin)),
            needed=_enough_runs(row, difference.basis)
            if single and may != Conditional.COUNT
            else _needed(found, row.metric, difference, margin),
        )
    if conditional and may != Conditional.COUNT:
        reason = "not worse in these runs; too few runs for a verdict on the build"
        return msgspec.structs.replace(
            _cause(row.metric, row.part, row.quantity, name, "run again", reason),
            needed=_enough_runs(row, difference.basis),
            conditional=True,
        )
    return None


def _is_of_single_runs(row: Row, difference: Difference) -> bool:
    """Returns whether means of two single runs are compared by what varies within them."""
    of_means = traits_of(row.metric.estimator).means_of_runs
    return of_means and difference.basis is not None and not difference.basis.of_runs


def _tipping(found: Comparison, metric: Metric, difference: Difference, margin: float) -> tuple[str, float | None]:
    """Returns the words for what single runs show, with the spread of runs of one build at which it is no longer shown; empty where they show nothing.

    A spread s adds 2 s^2 to the variance of the logarithm of the ratio. It is taken to be known, so that the limit is the normal distribution's.
    """
    harm, bounds = _harm(metric, difference.ratio), _harm(metric, difference.bounds)
    if harm is None or bounds is None or difference.ratio is None or not 0 < bounds.low <= bounds.high < np.inf:
        return "", None
    level = (1 - BOUNDS) / 2
    seen = float(np.log(harm.estimate))
    error = float(np.log(bounds.high / bounds.low)) / 2 / float(t_isf(level, np.inf))

    def at(distance: float, alpha: float) -> float:
        return float(np.sqrt(max((distance / float(t_isf(alpha, np.inf))) ** 2 - error**2, 0.0) / 2))

    shown = difference.p_adjusted is not None and difference.p_adjusted < 1 - found.confidence
    limit, (floor, ceiling) = _limit(metric, difference, margin), _limits(difference, margin)
    if shown and not floor <= difference.ratio.estimate <= ceiling:
        tips = at(abs(seen), (1 - found.confidence) / 2 * _share(found))
        return (
            f"{percent_change(difference.ratio.estimate)} %: chance only if {_RUNS} vary by more than {_spread(tips)}",
            tips,
        )
    if _not_worse(metric, difference, margin):
        tips = at(float(np.log(limit)) - seen, level)
        return f"not worse if {_RUNS} vary by less than {_spread(tips)}", tips
    return "", None


def _spread(share: float) -> str:
    """A spread with two significant digits: it is no better known."""
    return percent(share, 2)


def _cause(metric: Metric, part: str, quantity: Quantity | None, name: str, answer: Answer, reason: str) -> Cause:
    return Cause(
        metric=metric.id,
        name=metric.name,
        part=part,
        quantity=quantity,
        candidate=name,
        answer=answer,
        reason=reason,
    )


def _conditional(difference: Difference) -> bool:
    """Returns whether a row's result holds for these runs only."""
    basis = difference.basis
    if basis is None:
        return False
    if basis.unit.in_session:
        return not difference.paired
    if basis.unit.pooled:
        # Its interval has as many degrees of freedom as there are runs that show how much runs differ.
        return False
    return not basis.of_runs or min(basis.counts) < ENOUGH_RUNS


def _enough_runs(row: Row, basis: Basis | None) -> Needed | None:
    """Returns the runs per side, or pairs of them, that a statement about other runs needs; None where nothing is repeated, or one session is enough."""
    if basis is None or basis.unit.in_session:
        return None
    return Needed(basis.over if basis.of_runs else "runs", _runs(row, basis), ENOUGH_RUNS)


def _runs(row: Row, basis: Basis | None) -> int:
    """Returns the number of runs of the side with fewer."""
    if basis is not None and basis.of_runs:
        return min(basis.counts)
    return min(summary.runs for summary in row.summaries if summary)


def _harm(metric: Metric, ratio: Interval | None) -> Interval | None:
    """A ratio that is above 1 where the candidate is worse."""
    if ratio is None or metric.better == "lower":
        return ratio
    estimate, high, low = (1 / one if one > 0 else np.inf for one in (ratio.estimate, ratio.low, ratio.high))
    return Interval(float(estimate), float(low), float(high))


def _limits(difference: Difference, margin: float) -> tuple[float, float]:
    """The ratios between which a difference doesn't matter, or is accepted up to a larger share than the margin."""
    floor, ceiling = difference.limits
    up_to = limits(margin, absolute=False) if margin > difference.margin else (floor, ceiling)
    return min(floor, up_to[0]), max(ceiling, up_to[1])


def _limit(metric: Metric, difference: Difference, margin: float) -> float:
    """The harm up to which a difference doesn't matter, or is accepted; infinity where all of the baseline may go."""
    floor, ceiling = _limits(difference, margin)
    if metric.better == "lower":
        return ceiling
    return 1 / floor if floor > 0 else float("inf")


def _by_how_much(metric: Metric, difference: Difference, margin: float) -> str:
    """A difference with its margin, in words: as a share of the baseline, or in the metric's unit where there is none."""
    if difference.ratio is None and difference.delta is not None and difference.margin_absolute is not None:
        changed = signed_quantity(difference.delta.estimate, metric.unit)
        return f"{changed} (margin {quantity(difference.margin_absolute, metric.unit)})"
    change = percent_change(difference.ratio.estimate) if difference.ratio else "?"
    return f"{change} % ({_margin(difference, margin)})"


def _margin(difference: Difference, margin: float) -> str:
    """The margin in words, or the larger share that is accepted beside it."""
    if margin > difference.margin:
        return f"accepted up to {percent(margin)}, margin {percent(difference.margin)}"
    return f"margin {percent(margin)}"


def _is_worse(metric: Metric, difference: Difference, margin: float) -> bool:
    """Returns whether the candidate is worse, and by more than what is accepted."""
    harm = _harm(metric, difference.ratio)
    beyond = harm is None or harm.estimate > _limit(metric, difference, margin)
    return difference.verdict == Verdict.WORSE and beyond


def _not_worse(metric: Metric, difference: Difference, margin: float) -> bool:
    """Returns whether it is shown that the candidate isn't worse by more than the margin."""
    if difference.ratio is None:
        return difference.verdict in (Verdict.EQUIVALENT, Verdict.BETTER)
    if difference.p_adjusted is None:
        return difference.verdict == Verdict.EQUIVALENT
    bounds = _harm(metric, difference.bounds)
    return bounds is not None and bounds.high <= _limit(metric, difference, margin)


def _why_open(metric: Metric, difference: Difference, margin: float) -> str:
    bounds = _harm(metric, difference.bounds)
    if _is_worse(metric, difference, margin):
        return "worse in these runs; too few runs for a verdict on the build"
    if bounds is None or difference.p_adjusted is None:
        return difference.reason
    worst = percent_change(bounds.high if metric.better == "lower" else 1 / bounds.high)
    beyond = (
        f"what is accepted ({_margin(difference, margin)})"
        if margin > difference.margin
        else f"the margin of {percent(margin)}"
    )
    return f"may be worse by more than {beyond}: up to {worst} % by the {percent(BOUNDS)} interval"


def _needed(found: Comparison, metric: Metric, difference: Difference, margin: float) -> Needed | None:
    """Returns the units per side that would be enough, if the difference were the one that was seen; None where that is unknown."""
    basis, bounds = difference.basis, _harm(metric, difference.bounds)
    if found.at_any_look and basis is not None and min(basis.counts) < FIRST_LOOK:
        return Needed(basis.over, min(basis.counts), FIRST_LOOK)
    if bounds is None or basis is None or difference.p_adjusted is None or min(bounds.low, bounds.high) <= 0:
        return None
    size = min(basis.counts)
    # This many on each side would be as informative as what there is on both.
    even = 2 / sum(1 / count for count in basis.counts) if basis.unit.pooled else size
    degrees = _degrees(basis)
    level = (1 - BOUNDS) / 2
    reach = (
        limit_of_looks(2 * level, size)
        if found.at_any_look
        else float(t_isf(level, basis.degrees or (degrees(size) if degrees else np.inf)))
    )
    error = float(np.log(bounds.high / bounds.low)) / 2 / reach
    seen, limit = float(np.log(bounds.estimate)), float(np.log(_limit(metric, difference, margin)))
    distance, alpha = (limit - seen, level) if seen < limit else (seen, (1 - found.confidence) / 2 * _share(found))
    fixed = difference.detail.error_of_blocks or 0.0 if difference.detail else 0.0
    if not np.isfinite(error) or distance <= 0:
        return None
    unclear = basis.unit.in_session and basis.effective[0] < size
    if unclear:
        # So few rounds don't show whether ratios resemble the ones before; more mostly show that they don't.
        error *= float(np.sqrt(basis.effective[0] / size))
    total = size_needed(
        distance,
        error,
        even,
        fixed=min(fixed, error),
        degrees=degrees,
        limit=(lambda one_sided, units: limit_of_looks(2 * one_sided, units)) if found.at_any_look else None,
        alpha=alpha,
        wanted=HALF if found.at_any_look else POWER,
    )
    least = max(size + 1, SHOWING_ROUNDS if unclear else 0)
    return None if total is None else Needed(basis.over, size, max(total, least))


def _degrees(basis: Basis) -> Callable[[int], float] | None:
    """Degrees of freedom of an error from a number of units a side; None where they are many."""
    if not basis.unit.pooled:
        return basis.unit.degrees
    # Beside those of the runs themselves, what a prior or other metrics and sides add stays.
    more = basis.degrees - (sum(basis.counts) - 2)
    return lambda units: max(2 * (units - 1) + more, 1)


def _share(found: Comparison) -> float:
    """The part of the error rate that a test of a decisive metric has."""
    tested = [
        row.metric.rank == "decisive"
        for row in found.rows
        for one in row.differences
        if one and one.p_adjusted is not None
    ]
    return error_share(found.tests, sum(tested), decides=True) / found.comparisons


def _of_warnings(found: Comparison, rows: Sequence[Row], side: Side, policy: Policy) -> list[Cause]:
    """Warnings on which nothing ships, named beside a hold too: about the comparison, the two sides, and decisive rows."""
    warnings = [
        *found.warnings,
        *found.baseline.warnings,
        *side.warnings,
        *(one for row in rows for one in row.warnings),
    ]
    stopping = policy.stopping(side.manifest.bench)
    texts = {one.kind: one.text for one in reversed(warnings) if one.kind in stopping}
    return [
        Cause(
            metric="", name=kind, part=ALL, quantity=None, candidate=side.name, answer="run again", reason=texts[kind]
        )
        for kind in sorted(texts)
    ]


def _line(
    found: Comparison,
    answers: Sequence[Answer],
    causes: Sequence[Cause],
    decisive: int,
    rests_on: str,
    *,
    accepted: bool,
) -> str:
    """The decision in one line, whatever the names of sides, parts and metrics hold."""
    origin = origin_in_line(found.sides)
    parts = []
    for answer in dict.fromkeys((together(answers), *answers)):
        sides = [side.name for side, its in zip(found.candidates, answers, strict=True) if its == answer]
        why = _why(answer, [cause for cause in causes if cause.candidate in sides], decisive, accepted)
        parts.append(f"{answer.upper()} {listed(sides)}{origin}: {why}")
    return one_line("; ".join([*parts, *([rests_on] if rests_on else [])]))


def _why(answer: Answer, causes: Sequence[Cause], decisive: int, accepted: bool) -> str:
    if answer == "ship":
        what = "the decisive metric is" if decisive == 1 else f"all {decisive} decisive metrics are"
        return f"{what} shown not worse beyond {'its margin' if decisive == 1 else 'their margins'}" + (
            ", but for what is accepted" if accepted else ""
        )
    warnings = [cause for cause in causes if not cause.metric]
    warned = [f"warnings: {listed(list(dict.fromkeys(warning.name for warning in warnings)))}"] if warnings else []
    several = len({cause.candidate for cause in causes}) > 1
    if answer == "hold":
        worse = [cause for cause in causes if cause.answer == "hold"]
        holds = [
            f"{f'{name} is ' if name else ''}worse in {listed(few([f'{cause.title} {cause.reason}' for cause in of], NAMED))}"
            for name, of in _by_candidate(worse, several).items()
        ]
        return "; ".join([*holds, *warned])
    unclear = [cause for cause in causes if cause.metric and not cause.conditional]
    alone = [cause for cause in causes if cause.tips_at is not None]
    more = _more(causes)
    parts = []
    if alone:
        tips = "; ".join(
            f"{f'{name}: ' if name else ''}{_tips(of)}" for name, of in _by_candidate(alone, several).items()
        )
        parts.append(f"one run per side doesn't show how much {_RUNS} differ: {tips}")
    if unclear:
        open_ = {
            name: listed(few(list(dict.fromkeys(cause.title for cause in of)), NAMED))
            for name, of in _by_candidate(unclear, several).items()
        }
        if len(set(open_.values())) == 1 and {*open_} >= {cause.candidate for cause in causes}:
            open_ = {"": next(iter(open_.values()))}
        parts += [f"{f'{name} has ' if name else ''}no verdict on {names}" for name, names in open_.items()]
    elif not warnings and not alone:
        parts.append("not worse here, but these are too few runs for a verdict on the build")
    return "; ".join([*parts, *warned, *([more] if more else [])])


def _by_candidate(causes: Sequence[Cause], several: bool) -> dict[str, list[Cause]]:
    """The causes of each candidate by its name, which is empty where the line is about one candidate."""
    found: dict[str, list[Cause]] = {}
    for cause in causes:
        found.setdefault(cause.candidate if several else "", []).append(cause)
    return found


def _tips(causes: Sequence[Cause]) -> str:
    """The spread at which each metric of one candidate tips, in words."""
    tips = [f"{cause.title} {cause.reason.replace(_RUNS, 'they')}" for cause in causes]
    return "; ".join([*tips[:NAMED], *([f"and {len(tips) - NAMED} more"] if len(tips) > NAMED else [])])


def _more(causes: Sequence[Cause]) -> str:
    """Returns the further measurements that would be enough, by what is repeated, and for how many of the differences where not all; the largest need counts."""
    asked = [cause.needed for cause in causes if cause.metric]
    estimated = [needed for needed in asked if needed is not None]
    most: dict[str, Needed] = {}
    for needed in estimated:
        known = most.get(needed.over)
        if known is None or needed.more > known.more:
            most[needed.over] = needed
    words = [
        f"{_about(one.more)} more {one.over if one.more > 1 else one.over.removesuffix('s')}" for one in most.values()
    ]
    if not words:
        return ""
    more = f"about {listed(words)} per side"
    if len(estimated) == len(asked):
        return f"needs {more}"
    return f"{more} would decide {len(estimated)} of these {len(asked)} differences"


def _about(count: int) -> str:
    """Two digits are enough of an estimate."""
    digits = 10 ** max(0, len(str(count)) - 2)
    return f"{-(-count // digits) * digits:,}"
