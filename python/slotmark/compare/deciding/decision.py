"""The decision about a candidate: ship, hold or run again, from the rows of a comparison and a policy. docs/decision.md explains it."""

from collections.abc import Iterator, Sequence

import msgspec
import numpy as np

from slotmark.compare.deciding.decision_line import RUNS, decision_line, reason_of
from slotmark.compare.deciding.harm import (
    accepted_limits,
    as_harm,
    by_how_much,
    harm_limit,
    is_worse,
    not_worse,
    why_open,
)
from slotmark.compare.deciding.needed import enough_runs, share_of_errors, units_needed
from slotmark.compare.deciding.policy import Accepted, Policy
from slotmark.compare.result import Comparison, Side
from slotmark.compare.results.decision import Answer, Cause, Decision
from slotmark.compare.results.rows import ALL, FROM_RUNS, NOT_KNOWN, Difference, Quantity, Row
from slotmark.compare.traits import joined_words, traits_of
from slotmark.metrics import Metric
from slotmark.numbers import percent, percent_change
from slotmark.statistics.distributions import t_isf
from slotmark.statistics.interval import BOUNDS
from slotmark.verdict import Conditional
from slotmark.warnings import ENOUGH_RUNS


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
    decided = together(answers)
    return Decision(
        answer=decided,
        line=decision_line(
            found, decided, answers, causes, len(decisive), _rests_on(found, rows, causes, known), accepted=bool(notes)
        ),
        policy=policy.name,
        answers=answers,
        reasons=[
            reason_of(answer, [one for one in causes if one.candidate == side.name], len(decisive), bool(notes))
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
    may = policy.conditional or (Conditional.UNDECIDED if single else Conditional.HOLD)
    counts = not conditional or may != Conditional.UNDECIDED
    if is_worse(row.metric, difference, margin) and counts:
        reason = by_how_much(row.metric, difference, margin)
        return _cause(row.metric, row.part, row.quantity, name, "hold", reason)
    if single and may != Conditional.COUNT:
        reason, tips = _tipping(found, row.metric, difference, margin)
        if reason:
            return msgspec.structs.replace(
                _cause(row.metric, row.part, row.quantity, name, "run again", reason),
                needed=enough_runs(row, difference.basis),
                conditional=True,
                tips_at=tips,
            )
    if not not_worse(row.metric, difference, margin):
        return msgspec.structs.replace(
            _cause(row.metric, row.part, row.quantity, name, "run again", why_open(row.metric, difference, margin)),
            needed=enough_runs(row, difference.basis)
            if single and may != Conditional.COUNT
            else units_needed(found, row.metric, difference, margin),
        )
    if conditional and may != Conditional.COUNT:
        reason = "not worse in these runs; too few runs for a verdict on the build"
        return msgspec.structs.replace(
            _cause(row.metric, row.part, row.quantity, name, "run again", reason),
            needed=enough_runs(row, difference.basis),
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
    harm, bounds = as_harm(metric, difference.ratio), as_harm(metric, difference.bounds)
    if harm is None or bounds is None or difference.ratio is None or not 0 < bounds.low <= bounds.high < np.inf:
        return "", None
    level = (1 - BOUNDS) / 2
    seen = float(np.log(harm.estimate))
    error = float(np.log(bounds.high / bounds.low)) / 2 / float(t_isf(level, np.inf))

    def at(distance: float, alpha: float) -> float:
        return float(np.sqrt(max((distance / float(t_isf(alpha, np.inf))) ** 2 - error**2, 0.0) / 2))

    shown = difference.p_adjusted is not None and difference.p_adjusted < 1 - found.confidence
    limit, (floor, ceiling) = harm_limit(metric, difference, margin), accepted_limits(difference, margin)
    if shown and not floor <= difference.ratio.estimate <= ceiling:
        tips = at(abs(seen), (1 - found.confidence) / 2 * share_of_errors(found))
        return (
            f"{percent_change(difference.ratio.estimate)} %: chance only if {RUNS} vary by more than {_spread(tips)}",
            tips,
        )
    if not_worse(metric, difference, margin):
        tips = at(float(np.log(limit)) - seen, level)
        return f"not worse if {RUNS} vary by less than {_spread(tips)}", tips
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
