"""Changes by place: stages that take longer or shorter on one side, everywhere, in one region, between two, or on one host. docs/explain.md explains it."""

from collections.abc import Iterator, Sequence

import msgspec
import numpy as np

from slotmark.compare.attribution.own_spread import own_spreads, with_own_spread
from slotmark.compare.attribution.stage_cells import Cells
from slotmark.compare.results.attribution import Change, Changes
from slotmark.metrics import StageCells
from slotmark.statistics.rank_tests import holm
from slotmark.statistics.student import student, two_sided_p

MOST = 5
"""The most changes that are named."""

_SMALL = 0.01
"""A change that accounts for less than this share of what the first one accounts for isn't named."""


class _Scope(msgspec.Struct, frozen=True, eq=False):
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
    What was found in one stage is fitted together each time: what is left of a place when a wider one is found may be nothing.

    Args:
        stage_cells: Which stages took place where.
        cells: The stages.
        confidence: Confidence of the intervals; less than 1 by the adjusted p below which a stage changed.
    """
    if not cells:
        return None
    search = _Search(stage_cells, cells, confidence)
    first = 0.0
    refused: set[tuple[int, bytes]] = set()
    while len(search.found) < MOST:
        likely = [one for one, _ in search.beyond_chance(search.scopes()) if _key(one) not in refused]
        if not likely:
            break
        one = max(likely, key=lambda scope: scope.accounts_for)
        first = first or one.accounts_for
        if one.accounts_for < _SMALL * first:
            break
        refused.add(_key(one))  # no place is tried twice
        search.add(one)
    found = [
        Change(
            stage=search.stages[one.stage].stage,
            kind=one.kind,
            places=list(one.places),
            delta=student(one.estimate, one.error, one.degrees, confidence).interval,
            p_adjusted=p,
        )
        for one, p in sorted(search.found, key=lambda entry: -entry[0].accounts_for)
    ]
    return Changes(kind=stage_cells.kind, group=stage_cells.group, unit=stage_cells.unit, found=found)


class _Search:
    """The changes that were found, each with its adjusted p-value, and the stages with all of them taken off."""

    def __init__(self, stage_cells: StageCells, stages: Sequence[Cells], confidence: float) -> None:
        self.stages = list(stages)
        self.found: list[tuple[_Scope, float]] = []
        self._of, self._confidence = stage_cells, confidence
        self._scopes = [list(_scopes(number, stage, stage_cells)) for number, stage in enumerate(stages)]

    def scopes(self) -> list[_Scope]:
        """All places of all stages, with what is left there."""
        return [one for of_stage in self._scopes for one in of_stage]

    def beyond_chance(self, scopes: Sequence[_Scope]) -> list[tuple[_Scope, float]]:
        """Those of the places that changed, with their adjusted p-values."""
        return [
            (one, p)
            for one, p in zip(scopes, _adjusted(scopes), strict=True)
            if p < 1 - self._confidence and abs(one.estimate) >= self._of.least
        ]

    def add(self, new: _Scope) -> None:
        """Adds a change, and leaves out those of its stage that are none beside it; or nothing is added, where it is none beside them."""
        before = [one for one, _ in self.found if one.stage == new.stage]
        kept = [*before, new]
        fitted = self._fitted(kept)
        while len(fitted) < len(kept) and new in kept:
            lost = set(map(_key, kept)) - {_key(one) for one, _ in fitted}
            kept.remove(min((one for one in kept if _key(one) in lost), key=lambda one: one.accounts_for))
            fitted = self._fitted(kept)
        if new not in kept:
            kept = before
            fitted = [entry for entry in self.found if entry[0].stage == new.stage]
        self.found = [*(entry for entry in self.found if entry[0].stage != new.stage), *fitted]
        self._take(new.stage, kept)

    def _fitted(self, kept: Sequence[_Scope]) -> list[tuple[_Scope, float]]:
        """Those of some places of a stage that changed, where the differences of all of them are fitted together."""
        found: list[tuple[_Scope, float]] = []
        for one in kept:
            self._take(one.stage, kept, beside=one)
            found += [entry for entry in self.beyond_chance(self.scopes()) if _key(entry[0]) == _key(one)]
        return found

    def _take(self, stage: int, kept: Sequence[_Scope], beside: _Scope | None = None) -> None:
        """Takes off what is fitted for these places, but for one."""
        of = self.stages[stage]
        taken = np.zeros(of.weights.size)
        if kept:
            inside, root = np.stack([one.inside for one in kept], axis=1), np.sqrt(of.weights)
            differences = root * (of.means[1] - of.means[0])
            fitted = np.linalg.lstsq(inside * root[:, np.newaxis], differences, rcond=None)[0]
            taken = inside @ np.where([one is beside for one in kept], 0.0, fitted)
        self.stages[stage] = msgspec.structs.replace(of, taken=taken)
        self._scopes[stage] = list(_scopes(stage, self.stages[stage], self._of))


def _key(one: _Scope) -> tuple[int, bytes]:
    """The stage and cells of a place: the same whatever is taken off."""
    return one.stage, one.inside.tobytes()


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
