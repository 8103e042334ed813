"""Places that differ from the rest: the difference between two sides, stage by stage, by where it took place. docs/explain.md explains it."""

from collections.abc import Sequence

import msgspec
import numpy as np
from scipy import stats

from slotmark.metrics import Analysis, Where
from slotmark.statistics.location import MAD_SCALE
from slotmark.statistics.rank_tests import holm

LEAST_PLACES = 5
"""With fewer places there is no rest to differ from."""


class Apart(msgspec.Struct, frozen=True, kw_only=True):
    """A stage at one place, whose difference between the sides isn't that of the other places.

    Attributes:
        place: Where.
        stage: Which.
        baseline: Its mean there.
        candidate: Likewise.
        beyond: By how much more the means differ there than in the middle of all places.
        p_adjusted: That of a place like the others, adjusted over all places and stages.
    """

    place: str
    stage: str
    baseline: float
    candidate: float
    beyond: float
    p_adjusted: float


class Places(msgspec.Struct, frozen=True, kw_only=True):
    """What was looked at, and what differs.

    Attributes:
        kind: What a place is, as ``host``.
        unit: Of all values.
        count: How many places there are.
        apart: Those that differ, the largest first.
    """

    kind: str
    unit: str
    count: int
    apart: list[Apart]


class _Mean(msgspec.Struct, frozen=True):
    """A mean and the square of its standard error."""

    value: float
    error: float


def places_apart(where: Where, analyses: Sequence[Sequence[Analysis]], confidence: float) -> Places | None:
    """Stages that changed at some place as they didn't at the others; None with fewer than five places that both sides have.

    A place's difference is held against the median over places, and its distance from there against what places differ by otherwise (the
    median absolute deviation) and its own standard error, whichever is larger: Student's t with two degrees of freedom fewer
    than there are places.

    Args:
        where: Which stages took place where.
        analyses: Of each run of the baseline, and of the candidate.
        confidence: Less than 1 by the adjusted p below which a place differs.
    """
    ours, theirs = (_means(where, of_side) for of_side in analyses)
    stages = list(dict.fromkeys(stage for stage, _ in ours))
    found: list[tuple[Apart, float]] = []
    most = 0
    for stage in stages:
        places = [place for of, place in ours if of == stage and (of, place) in theirs]
        if len(places) < LEAST_PLACES:
            continue
        most = max(most, len(places))
        pairs = [(ours[stage, place], theirs[stage, place]) for place in places]
        differences = np.array([b.value - a.value for a, b in pairs])
        errors = np.array([np.sqrt(a.error + b.error) for a, b in pairs])
        beyond = differences - np.median(differences)
        scale = np.maximum(errors, MAD_SCALE * np.median(np.abs(beyond)))
        t = np.divide(beyond, scale, out=np.zeros_like(beyond), where=scale > 0)
        p = 2 * stats.t.sf(np.abs(t), len(places) - 2)
        for place, (a, b), more, chance in zip(places, pairs, beyond, p, strict=True):
            apart = Apart(
                place=place, stage=stage, baseline=a.value, candidate=b.value, beyond=float(more), p_adjusted=1.0
            )
            found.append((apart, float(chance)))
    if not found:
        return None
    adjusted = holm([chance for _, chance in found])
    apart = [
        msgspec.structs.replace(one, p_adjusted=p)
        for (one, _), p in zip(found, adjusted, strict=True)
        if p < 1 - confidence and abs(one.beyond) >= where.least
    ]
    apart.sort(key=lambda one: -abs(one.beyond))
    return Places(kind=where.place, unit=where.unit, count=most, apart=apart)


def _means(where: Where, analyses: Sequence[Analysis]) -> dict[tuple[str, str], _Mean]:
    """The mean over the runs of a side, by stage and place; of places at which a run has a stage at least twice."""
    of_runs: dict[tuple[str, str], list[_Mean]] = {}
    for analysis in analyses:
        for row in analysis.stages(where).to_pylist():
            if row["n"] > 1:
                of_runs.setdefault((row["stage"], row["place"]), []).append(
                    _Mean(row["mean"], row["variance"] / row["n"])
                )
    return {
        key: _Mean(sum(one.value for one in means) / len(means), sum(one.error for one in means) / len(means) ** 2)
        for key, means in of_runs.items()
    }
