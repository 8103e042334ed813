"""Changes by place: stages that take longer or shorter on one side, everywhere, in one region, between two, or on one host. docs/explain.md explains it."""

from collections.abc import Iterator, Sequence

import msgspec
import numpy as np

from slotmark.compare.attribution import Change, Changes
from slotmark.compare.own_spread import own_spreads, with_own_spread
from slotmark.compare.stage_cells import Cells
from slotmark.metrics import StageCells
from slotmark.statistics.rank_tests import holm
from slotmark.statistics.student import student, two_sided_p

MOST = 5
"""The most changes that are named."""

_SMALL = 0.01
"""A change that accounts for less than this share of what the first one accounts for isn't named."""


class _Scope(msgspec.Struct, frozen=True):
    """Some cells of a stage, with their common difference: of the family of all, of groups, or of places."""

    stage: int
    family: int
    kind: str
    places: tuple[str, ...]
    inside: np.ndarray
    weight: float
    estimate: float
    error: float
    degrees: float

    @property
    def p(self) -> float:
        return two_sided_p(self.estimate, self.error, self.degrees)

    @property
    def accounts_for(self) -> float:
        return self.weight * self.estimate**2


def changes(stage_cells: StageCells, cells: Sequence[Cells], confidence: float) -> Changes | None:
    """The changes between two sides, the largest first; None where the logs don't have the stages.

    Each stage's mean is taken for each host where it took place and each host that sent it, so that other ways of the blocks make no difference.
    Of all stages and places the one is named first whose common difference leaves the least of the squares of all these differences,
    among those that are beyond chance and beyond what most hosts and links differ by of their own. It is taken off, and the next is looked for.

    Args:
        stage_cells: Which stages took place where.
        cells: The stages.
        confidence: Confidence of the intervals; less than 1 by the adjusted p below which a stage changed.
    """
    stages = list(cells)
    if not stages:
        return None
    found: list[Change] = []
    first = 0.0
    of_stages = [list(_scopes(place, stage, stage_cells)) for place, stage in enumerate(stages)]
    while len(found) < MOST:
        scopes = [one for of_stage in of_stages for one in of_stage]
        adjusted = _adjusted(scopes)
        telling = [
            (one.accounts_for, -place, one, p)
            for place, (one, p) in enumerate(zip(scopes, adjusted, strict=True))
            if p < 1 - confidence and abs(one.estimate) >= stage_cells.least
        ]
        if not telling:
            break
        most, _, one, p = max(telling, key=lambda entry: entry[:2])
        first = first or most
        if most < _SMALL * first:
            break
        delta = student(one.estimate, one.error, one.degrees, confidence).interval
        of = stages[one.stage]
        found.append(Change(stage=of.stage, kind=one.kind, places=list(one.places), delta=delta, p_adjusted=p))
        taken = of.taken + np.where(one.inside, one.estimate, 0.0)
        stages[one.stage] = msgspec.structs.replace(of, taken=taken)
        of_stages[one.stage] = list(_scopes(one.stage, stages[one.stage], stage_cells))
    return Changes(kind=stage_cells.kind, group=stage_cells.group, unit=stage_cells.unit, found=found)


def _adjusted(scopes: Sequence[_Scope]) -> list[float]:
    """The p-values, adjusted over the scopes of the same family and over the families: there are many more single hosts than regions."""
    families = sorted({one.family for one in scopes})
    adjusted = {family: iter(holm([one.p for one in scopes if one.family == family])) for family in families}
    return [min(1.0, len(families) * next(adjusted[one.family])) for one in scopes]


def _scopes(stage: int, cells: Cells, stage_cells: StageCells) -> Iterator[_Scope]:
    """All cells, those of each group, of each pair of groups, of each place, each pair of places and each sender."""
    sent = any(sender for sender, _ in cells.names)
    kinds: list[tuple[int, str, list[tuple[str, ...]]]] = [(0, "", [() for _ in cells.names])]
    for family, kind, named in ((1, stage_cells.group, cells.groups), (2, stage_cells.kind, cells.names)):
        kinds.append((family, kind, [(place,) for _, place in named]))
        if sent:
            kinds.append((family, f"{kind}s", [(min(pair), max(pair)) for pair in named]))
    if sent:
        kinds.append((2, "sender", [(sender,) for sender, _ in cells.names]))
    spreads = own_spreads(cells)
    seen: set[bytes] = set()
    for family, kind, of_cells in kinds:
        names = list(dict.fromkeys(name for name in of_cells if all(name)))
        places = {name: place for place, name in enumerate(names)}
        which = np.array([places.get(name, len(places)) for name in of_cells])
        found = with_own_spread(cells, cells.together(which, len(places)), which, spreads)
        for name, place in places.items():
            inside = which == place
            if inside.tobytes() in seen:  # as the region where there is only one
                continue
            seen.add(inside.tobytes())
            yield _Scope(
                stage,
                family,
                kind,
                name,
                inside,
                float(found.weights[place]),
                float(found.differences[place]),
                float(found.errors[place]),
                float(found.degrees[place]),
            )
