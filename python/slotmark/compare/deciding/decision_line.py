"""The decision in one line, and the reasons of each candidate."""

from collections.abc import Sequence

from slotmark.cleaning import one_line
from slotmark.compare.result import Comparison, origin_in_line
from slotmark.compare.results.decision import Answer, Cause, Needed
from slotmark.words import few, listed

RUNS = "runs of one build"
"""The subject of what tips: named once in a line."""

NAMED = 3
"""The most metrics that are named in the line; the causes have all."""


def decision_line(
    found: Comparison,
    decided: Answer,
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
    for answer in dict.fromkeys((decided, *answers)):
        sides = [side.name for side, its in zip(found.candidates, answers, strict=True) if its == answer]
        why = reason_of(answer, [cause for cause in causes if cause.candidate in sides], decisive, accepted)
        parts.append(f"{answer.upper()} {listed(sides)}{origin}: {why}")
    return one_line("; ".join([*parts, *([rests_on] if rests_on else [])]))


def reason_of(answer: Answer, causes: Sequence[Cause], decisive: int, accepted: bool) -> str:
    """Returns the words for an answer about one candidate, or several, from its causes."""
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
        parts.append(f"one run per side doesn't show how much {RUNS} differ: {tips}")
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
    tips = [f"{cause.title} {cause.reason.replace(RUNS, 'they')}" for cause in causes]
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
