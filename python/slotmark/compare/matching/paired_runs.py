"""Runs of two sides that are pairs: of one round of a session that took turns, or simulated with one seed.

What the day did to a round it did to both runs of it, and the same seed draws the same leaders.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Literal

import msgspec

from slotmark import warnings
from slotmark.compare.result import Side
from slotmark.errors import ComparisonError
from slotmark.metrics import Analysis, catalogue
from slotmark.run import Manifest, Run
from slotmark.statistics.mean_difference import LEAST_SHARED
from slotmark.warnings import Warning

LEAST = 2
"""Fewer pairs than this don't show how much pairs vary."""

Turn = tuple[str, int]
"""The session of a run, and its round."""


class Pairing(msgspec.Struct, frozen=True):
    """The pairs of runs of two sides.

    Attributes:
        over: What a pair is of.
        places: One per run of the candidate: the place of the baseline's run that it is a pair with.
    """

    over: Literal["paired rounds", "paired seeds"]
    places: list[int]


class Pairs(msgspec.Struct, frozen=True):
    """Runs of two builds or more that belong together.

    Attributes:
        over: What a pair is of.
        orders: For each build the places of its runs, pair by pair.
    """

    over: Literal["paired rounds", "paired seeds"]
    orders: list[list[int]]


def pairs_of(builds: Sequence[Sequence[Run]], analyses: Sequence[Sequence[Analysis]]) -> Pairs | None:
    """Returns the runs of builds that belong together: those of rounds that are there of each, or all of them of the same seeds; None where none do.

    Args:
        builds: The runs of each.
        analyses: Of these.
    """
    if len(builds) < 2:
        return None
    of_builds = [{turn: place for place, run in enumerate(runs) if (turn := _turn(run.manifest))[1]} for runs in builds]
    turns = sorted(set.intersection(*(set(of_build) for of_build in of_builds)))
    if len(turns) >= LEAST:
        return Pairs("paired rounds", [[of_build[turn] for turn in turns] for of_build in of_builds])
    found = [_same_work(analyses[0], of_build) for of_build in analyses[1:]]
    orders = [sorted(range(len(places)), key=places.__getitem__) for places in found if places]
    return Pairs("paired seeds", [list(range(len(analyses[0]))), *orders]) if len(orders) == len(found) else None


def without_spoilt(runs: Sequence[Run]) -> tuple[list[Run], list[Warning]]:
    """The runs that aren't spoilt, and a warning for each that is, or for its round."""
    whole: list[Run] = []
    remarks: list[Warning] = []
    for run in runs:
        if number := run.manifest.round if spoiling(run) else 0:
            remarks.append(warnings.round_left_out(number, _spoilt([run])))
        elif why := spoilt(run):
            remarks.append(warnings.run_left_out(run.name, why))
        else:
            whole.append(run)
    return whole, remarks


def pairing(baseline: Side, candidate: Side, ours: Sequence[Analysis], theirs: Sequence[Analysis]) -> Pairing | None:
    """Returns which runs of two sides are pairs; None where not all are.

    Args:
        baseline: The one side.
        candidate: The other.
        ours: The baseline's runs, opened.
        theirs: The candidate's.
    """
    if take_turns(baseline, candidate):
        return Pairing("paired rounds", list(range(len(ours))))
    places = _same_work(ours, theirs)
    return None if places is None else Pairing("paired seeds", places)


def _same_work(ours: Sequence[Analysis], theirs: Sequence[Analysis]) -> list[int] | None:
    """For each run of the second side the one of the first that was given the same work, as the same leaders in the same slots.

    Chance gives two runs of a real cluster other leaders; only simulated ones of one seed and one network have the same.
    """
    if len(ours) != len(theirs) or len(ours) < LEAST:
        return None
    keys = [column for column, key in ours[0].catalogue.keys.items() if key.work]
    works = [
        [{(key, work) for key in keys for work in run.works(key).values()} for run in side] for side in (ours, theirs)
    ]
    twins = [
        [
            place
            for place, known in enumerate(works[0])
            if known and len(known & work) >= LEAST_SHARED * max(len(known), len(work))
        ]
        for work in works[1]
    ]
    places = [place for of_run in twins for place in of_run]
    return places if all(len(of_run) == 1 for of_run in twins) and len(set(places)) == len(ours) else None


def turns_of(side: Side) -> list[Turn]:
    """The rounds of a side's runs, in their order."""
    return [_turn(manifest) for manifest in side.manifests]


def take_turns(baseline: Side, candidate: Side) -> bool:
    """Returns whether both sides have a run in each of the same rounds, in one order, and there are enough of them."""
    ours, theirs = turns_of(baseline), turns_of(candidate)
    return ours == theirs and len(ours) >= LEAST and all(number for _, number in ours)


class _Shared(msgspec.Struct, frozen=True):
    """Sides that took turns with each other, by their numbers, and the rounds that one of them or more has, two or more."""

    sides: list[int]
    turns: list[Turn]


def whole_rounds(groups: Sequence[Sequence[Run]]) -> tuple[list[list[Run]], list[Warning]]:
    """The runs of rounds that are whole on all sides that took turns, in one order and before other runs, and a warning for each round that isn't.

    All runs as they are where no two sides took turns, or where no side has two runs of the session.

    Args:
        groups: One per side.

    Raises:
        ComparisonError: Two runs of one side are of one round, or no two rounds are whole, though the sides took turns.
    """
    sides = [{_turn(run.manifest): run for run in group} for group in groups]
    left_out: dict[Turn, str] = {}
    whole: list[list[Turn]] = [[] for _ in groups]
    for shared in _shared(sides):
        of_sides = [sides[number] for number in shared.sides]
        for number in shared.sides:
            _refuse_one_round_twice(groups[number], shared.turns)
        broken = {turn: why for turn in shared.turns if (why := _spoilt([side.get(turn) for side in of_sides]))}
        kept = [turn for turn in shared.turns if turn not in broken]
        if len(kept) < LEAST:
            raise ComparisonError(
                f"{len(kept)} of {len(shared.turns)} rounds can be compared ({'; '.join(broken.values())}), and fewer than {LEAST} don't show how much "
                "they vary. Measure more rounds, or compare the two runs of one round alone."
            )
        left_out |= broken | dict.fromkeys(_absent(shared.turns), "no side has a run of it")
        for number in shared.sides:
            whole[number] += kept
    remarks = [warnings.round_left_out(number, why) for (_, number), why in sorted(left_out.items())]
    found = []
    for group, side, turns in zip(groups, sides, whole, strict=True):
        known = {*turns, *left_out}
        found.append([*(side[turn] for turn in turns), *(run for run in group if _turn(run.manifest) not in known)])
    return found, remarks


def _shared(sides: Sequence[Mapping[Turn, Run]]) -> Iterator[_Shared]:
    """All sides with all their rounds, where they have a round in common; else those of each session that have one in common."""
    every = sorted({turn for side in sides for turn in side})
    found = [_Shared(list(range(len(sides))), every)]
    if not _in_common(sides, found[0]):
        of_sessions = [[turn for turn in every if turn[0] == name] for name in dict.fromkeys(name for name, _ in every)]
        found = [_of_session(sides, turns) for turns in of_sessions]
    for one in found:
        several = any(len(sides[number].keys() & set(one.turns)) > 1 for number in one.sides)
        if len(one.sides) > 1 and several and _in_common(sides, one):
            yield one


def _of_session(sides: Sequence[Mapping[Turn, Run]], turns: Sequence[Turn]) -> _Shared:
    """The sides that share a round of a session with another, and the rounds that these have."""
    rounds = [side.keys() & set(turns) for side in sides]
    shared = [
        number
        for number, own in enumerate(rounds)
        if any(own & other for place, other in enumerate(rounds) if place != number)
    ]
    return _Shared(shared, [turn for turn in turns if any(turn in rounds[number] for number in shared)])


def _in_common(sides: Sequence[Mapping[Turn, Run]], shared: _Shared) -> bool:
    numbered = all(number for _, number in shared.turns)
    return numbered and any(all(turn in sides[number] for number in shared.sides) for turn in shared.turns)


def _refuse_one_round_twice(group: Sequence[Run], turns: Sequence[Turn]) -> None:
    known: dict[Turn, Run] = {}
    for run in group:
        twin = known.setdefault(_turn(run.manifest), run)
        if twin is not run and _turn(run.manifest) in turns:
            raise ComparisonError(
                f"{twin.place} and {run.place} are both of round {run.manifest.round}: a side has one run of a round. Leave one out."
            )


def _absent(turns: Sequence[Turn]) -> list[Turn]:
    """Rounds of the same sessions, before their last, that no side has a run of."""
    last, there = dict(turns), set(turns)
    return [(name, number) for name in last for number in range(1, last[name]) if (name, number) not in there]


def _turn(manifest: Manifest) -> Turn:
    return manifest.session, manifest.round


def _spoilt(runs: Sequence[Run | None]) -> str:
    """Returns why a round can't be compared, in words; empty where it can."""
    there = [run for run in runs if run]
    if len(there) < len(runs):
        return f"round {there[0].manifest.round} is there on one side only ({there[0].path.name})"
    for run in there:
        for warning in spoiling(run):
            return f"round {run.manifest.round}: {run.place.name}: {_in_words(warning)}"
    return ""


def spoilt(run: Run) -> str:
    """Returns why a run can't be compared with others of its session or build, in words; empty where it can."""
    return "; ".join(map(_in_words, spoiling(run)))


def spoiling(run: Run) -> list[Warning]:
    """Returns the warnings about a run by which it isn't what the others of its session are."""
    kinds = catalogue(run.manifest.bench).spoiling
    return [one for one in run.manifest.warnings if one.kind in kinds]


def _in_words(warning: Warning) -> str:
    return f"{warning.subject + ': ' if warning.subject else ''}{warning.text.removesuffix('.')}"
