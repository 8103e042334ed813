"""Runs of one session that took turns: those of a round are a pair, and what the day did to a round it did to both."""

from collections.abc import Sequence

from slotmark import warnings
from slotmark.compare.result import Side
from slotmark.errors import ComparisonError
from slotmark.run import Manifest, Run
from slotmark.warnings import Warning

LEAST = 2
"""Fewer rounds than this tell nothing of chance."""

SPOILT = ("cut_short", "node_died")
"""Warnings about a run by which it isn't what the others of its session are."""

Turn = tuple[str, int]
"""The session of a run, and its round."""


def turns_of(side: Side) -> list[Turn]:
    """The rounds of a side's runs, in their order."""
    return [_turn(manifest) for manifest in side.manifests]


def take_turns(baseline: Side, candidate: Side) -> bool:
    """Whether both sides have a run in each of the same rounds, in one order, and there are enough of them."""
    ours, theirs = turns_of(baseline), turns_of(candidate)
    return ours == theirs and len(ours) >= LEAST and all(number for _, number in ours)


def whole_rounds(groups: Sequence[Sequence[Run]]) -> tuple[list[list[Run]], list[Warning]]:
    """The runs of rounds that are whole on all sides, in one order, and a warning for each round that isn't.

    All runs as they are where some are of no round, where no side has two, or where no round is there on all sides.

    Args:
        groups: One per side.

    Raises:
        ComparisonError: Two runs of one side are of one round, or no two rounds are whole, though all runs are of some.
    """
    sides = [{_turn(run.manifest): run for run in group} for group in groups]
    every = sorted({turn for side in sides for turn in side})
    shared = [turn for turn in every if all(turn in side for side in sides)]
    if min(len(groups), max(map(len, groups))) < 2 or not shared or not all(number for _, number in every):
        return [list(group) for group in groups], []
    for group, side in zip(groups, sides, strict=True):
        for run in group:
            if (twin := side[_turn(run.manifest)]) is not run:
                raise ComparisonError(
                    f"{run.path} and {twin.path} are both of round {run.manifest.round}: a side has one run of a round. Leave one out."
                )
    left_out = {turn: why for turn in every if (why := _spoilt([side.get(turn) for side in sides]))}
    whole = [turn for turn in every if turn not in left_out]
    if len(whole) < LEAST:
        raise ComparisonError(
            f"{len(whole)} of {len(every)} rounds can be compared ({'; '.join(left_out.values())}), and fewer than {LEAST} tell nothing of "
            "chance. Measure more rounds, or compare the two runs of one round alone."
        )
    absent = [
        (name, number)
        for name in dict.fromkeys(name for name, _ in every)
        for number in range(1, max(number for other, number in every if other == name))
        if (name, number) not in every
    ]
    left_out |= dict.fromkeys(absent, "no side has a run of it")
    told = [warnings.round_left_out(number, why) for (_, number), why in sorted(left_out.items())]
    return [[side[turn] for turn in whole] for side in sides], told


def _turn(manifest: Manifest) -> Turn:
    return manifest.session, manifest.round


def _spoilt(runs: Sequence[Run | None]) -> str:
    """Why a round can't be compared, in words; empty where it can."""
    there = [run for run in runs if run]
    if len(there) < len(runs):
        return f"round {there[0].manifest.round} is there on one side only ({there[0].path.name})"
    for run in there:
        for warning in run.manifest.warnings:
            if warning.kind in SPOILT:
                return f"round {run.manifest.round}: {run.path.name}: {warning.subject + ': ' if warning.subject else ''}{warning.text.removesuffix('.')}"
    return ""
