"""Differences of hosts and links between two sides that aren't the target's: links that each seed draws anew, other routes, other neighbours.

Blocks that took one link share what the link differs by, so that however many there are, they don't separate it from a change of the node. It
shows in the other links: a change counts only beyond what most of them differ by.
"""

from collections.abc import Sequence

import msgspec
import numpy as np

from slotmark.compare.attribution.stage_cells import Cells, Together
from slotmark.statistics.distributions import t_isf
from slotmark.statistics.location import median_deviation, pair_deviation
from slotmark.statistics.student import satterthwaite

LEAST_MEMBERS = 5
"""With fewer hosts or links nothing shows what they differ by."""

FAR = 6e-7
"""The chance below which a cell's distance from most cells' change leaves it out of those that show what members differ by: five deviations of many cells, more of few."""

_CERTAINTY = 0.37
"""The median absolute deviation of normal values is as certain as the standard deviation of so large a share of them."""


class OwnSpread(msgspec.Struct, frozen=True):
    """Differences of one kind of members, as hosts or links, that aren't the target's.

    Attributes:
        members: The member of each cell, from 0; that of cells in none is the number of members.
        count: How many members there are.
        share: What a member's difference deviates by, as a share of its baseline's mean: a long link is drawn farther off than a short one.
        degrees: Degrees of freedom of the share.
    """

    members: np.ndarray
    count: int
    share: float
    degrees: float


def own_spreads(cells: Cells) -> list[OwnSpread]:
    """By how much hosts where a stage took place, its senders, and the links between both differ of their own; none where nothing shows it.

    The share is what the members' relative changes deviate by (Qn), less what they do by the chance of their blocks (the middle one of their squared
    errors), which errors have already: a change of few members, or one of all by the same share, isn't in it. Members with less than half of the usual
    number of blocks don't count. Errors don't tell which are known best: they grow with what a member takes, so that those that became shorter would seem to be.
    Cells far from most are left out: what one sender changes for all hosts isn't something that these hosts differ by.
    """
    kinds: list[list[tuple[str, ...]]] = [[(place,) for _, place in cells.names]]
    if any(sender for sender, _ in cells.names):
        kinds += [[(min(pair), max(pair)) for pair in cells.names], [(sender,) for sender, _ in cells.names]]
    found = (_own_spread(cells, of_cells) for of_cells in kinds)
    return [one for one in found if one]


def with_own_spread(cells: Cells, found: Together, which: np.ndarray, spreads: Sequence[OwnSpread]) -> Together:
    """Sets of cells, their errors widened by what the members in them differ by of their own.

    Args:
        cells: The stage.
        found: The sets.
        which: The set of each cell; the number of sets for those in none.
        spreads: Spreads of the stage.
    """
    count = found.differences.size
    parts = [(found.errors**2, found.degrees)]
    for one in spreads:
        inside = (which < count) & (one.members < one.count)
        place = which[inside] * one.count + one.members[inside]
        moved = np.bincount(place, (cells.weights * cells.means[0])[inside], count * one.count) * one.share
        variance = (moved.reshape(count, one.count) ** 2).sum(axis=1) / found.weights**2
        parts.append((variance, np.full(count, one.degrees)))
    whole = sum((variance for variance, _ in parts), np.zeros(count))
    degrees = [
        satterthwaite(float(one), [(float(variance[place]), float(of[place])) for variance, of in parts])
        for place, one in enumerate(whole)
    ]
    return msgspec.structs.replace(found, errors=np.sqrt(whole), degrees=np.array(degrees))


def _own_spread(cells: Cells, of_cells: Sequence[tuple[str, ...]]) -> OwnSpread | None:
    names = list(dict.fromkeys(name for name in of_cells if all(name)))
    if len(names) < LEAST_MEMBERS:
        return None
    places = {name: place for place, name in enumerate(names)}
    members = np.array([places.get(name, len(names)) for name in of_cells])
    usual = (members < len(names)) & (cells.means[0] > 0)
    if not usual.any():
        return None
    of_cell = (cells.means[1] - cells.means[0] - cells.taken)[usual] / cells.means[0][usual]
    far = t_isf(FAR / 2, _CERTAINTY * of_cell.size) * median_deviation(of_cell)
    usual[usual] = np.abs(of_cell - np.median(of_cell)) <= far
    shown, which = np.unique(members[usual], return_inverse=True)
    if shown.size < LEAST_MEMBERS:
        return None
    of_usual = np.full(members.size, shown.size)
    of_usual[usual] = which
    found = cells.together(of_usual, shown.size)
    changes, errors = found.differences / found.baseline, found.errors / found.baseline
    blocks = np.sum([np.bincount(one.cells, minlength=members.size) for one in cells.errors], axis=0)
    of_members = np.bincount(which, blocks[usual])
    enough = min(np.median(of_members) / 2, np.sort(of_members)[-LEAST_MEMBERS])
    known = of_members >= enough
    beyond = pair_deviation(changes[known]) ** 2 - float(np.median(errors[known] ** 2))
    return OwnSpread(members, len(names), max(0.0, beyond) ** 0.5, np.count_nonzero(known) - 3.0)
