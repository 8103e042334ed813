"""Places that differ from the rest: the difference between two sides, stage by stage, by where it took place. docs/explain.md explains it."""

import re
from collections.abc import Sequence

import msgspec
import numpy as np

from slotmark.compare.attribution.stage_cells import Cells
from slotmark.compare.results.attribution import Apart, OutlierPlaces
from slotmark.metrics import StageCells
from slotmark.statistics.distributions import t_sf
from slotmark.statistics.location import median_deviation, pair_deviation
from slotmark.statistics.rank_tests import holm

LEAST_PLACES = 5
"""With fewer places there is no rest to differ from."""


def outlier_places(stage_cells: StageCells, stages: Sequence[Cells], confidence: float) -> OutlierPlaces | None:
    """Stages that changed at some place as they didn't at the others; None where no stage has five places that both sides have.

    A place's difference is compared with the median over places, and its distance from there with what places differ by otherwise and
    its own standard error, whichever is larger: Student's t with three degrees of freedom fewer than there are places. What they differ by is Qn, or the median
    absolute deviation where that is larger: half of the places, which changed alike, have no rest, and Qn is then what each half differs by in itself. The same is
    done with differences as shares of the baseline, and the larger p counts: what takes long at some places by its nature, as over long links, differs by more there.

    Args:
        stage_cells: Which stages took place where.
        stages: The stages.
        confidence: Less than 1 by the adjusted p below which a place differs.
    """
    found: list[tuple[Apart, float]] = []
    differences: dict[str, dict[str, float]] = {}
    groups: dict[str, str] = {}
    for cells in stages:
        places = list(dict.fromkeys(place for _, place in cells.names if place))
        if not places:
            continue
        of = {place: number for number, place in enumerate(places)}
        groups |= {place: group for (_, place), (_, group) in zip(cells.names, cells.groups, strict=True) if place}
        one = cells.together(np.array([of.get(place, len(places)) for _, place in cells.names]), len(places))
        differences[cells.stage] = dict(zip(places, one.differences.tolist(), strict=True))
        if len(places) < LEAST_PLACES:
            continue
        beyond = one.differences - np.median(one.differences)
        p = _chance(one.differences, one.errors)
        if (one.baseline > 0).all():
            p = np.maximum(p, _chance(one.differences / one.baseline, one.errors / one.baseline))
        for number, place in enumerate(places):
            apart = Apart(
                place=place,
                stage=cells.stage,
                baseline=float(one.baseline[number]),
                candidate=float(one.candidate[number]),
                beyond=float(beyond[number]),
                p_adjusted=1.0,
            )
            found.append((apart, float(p[number])))
    if not found:
        return None
    adjusted = holm([chance for _, chance in found])
    apart = [
        msgspec.structs.replace(one, p_adjusted=p)
        for (one, _), p in zip(found, adjusted, strict=True)
        if p < 1 - confidence and abs(one.beyond) >= stage_cells.least
    ]
    apart.sort(key=lambda one: -abs(one.beyond))
    names = sorted(
        {place for of_stage in differences.values() for place in of_stage},
        key=lambda name: (groups.get(name, ""), _natural(name)),
    )
    return OutlierPlaces(
        kind=stage_cells.kind,
        unit=stage_cells.unit,
        least=stage_cells.least,
        count=len(names),
        apart=apart,
        names=names,
        groups=[groups.get(name, "") for name in names],
        stages=list(differences),
        differences=[[of_stage.get(name) for of_stage in differences.values()] for name in names],
    )


def _chance(differences: np.ndarray, errors: np.ndarray) -> np.ndarray:
    """The p-value of each place's distance from the median."""
    beyond = differences - np.median(differences)
    scale = np.maximum(errors, max(pair_deviation(differences), median_deviation(differences)))
    t = np.divide(beyond, scale, out=np.zeros_like(beyond), where=scale > 0)
    return 2 * t_sf(np.abs(t), differences.size - 3)


def _natural(name: str) -> list[tuple[int, str]]:
    """By what names are sorted so that node-2 comes before node-10."""
    return [(int(part), "") if part.isdecimal() else (-1, part) for part in re.split(r"(\d+)", name)]
