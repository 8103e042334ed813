"""Changed blocks, the changed parts of their cost, and what those blocks have in common. docs/ledger.md explains it."""

from collections.abc import Mapping, Sequence

import msgspec
import numpy as np

from slotmark.compare.results.attribution import BlockChanges, ChangedBlock, ChangedGroup, InClass, PartOfDelta
from slotmark.errors import ComparisonError
from slotmark.metrics import Analysis, Changed, CostMatrix, Metric, costs_together, parts_of
from slotmark.statistics.changed_blocks import ChangedBlocks, changed_blocks

SHOWN = 10
"""The most blocks of a group that are listed one by one."""

_NOTHING = 1e-9
"""The share of a whole that parts which add up to it may leave."""

_ROUNDED = 2.0
"""The units by which the sum of parts may exceed their whole: each is cut to a whole unit by itself."""


class Costs(msgspec.Struct, frozen=True):
    """The costs of one side by block.

    Attributes:
        whole: Costs of the bench's first metric.
        parts: Costs of its parts, by name; the last is the rest that no part holds, where there is one.
    """

    whole: CostMatrix
    parts: dict[str, np.ndarray]


def costs_of(changed: Changed, metric: Metric, sides: Sequence[Sequence[Analysis]]) -> list[Costs]:
    """The costs of all sides, with the parts that any of them has: one that a side doesn't record is no part of its work, where those that it records add up to the whole.

    A part that would be more than the whole, together with those before it, on any block, isn't inside of it and is left out. So is one that a side may have had
    without recording it: only some of its runs do, or what it records leaves a rest that the part may be in.

    Args:
        changed: The parts of the cost.
        metric: The cost.
        sides: An analysis per run.

    Raises:
        ComparisonError: A side lacks the metric, or its runs hold other blocks.
        RunError: A run is damaged.
    """
    wholes = [_required(side, metric) for side in sides]
    found = {part: [costs_together(side, part) for side in sides] for part in changed.parts}
    recorded = [
        {part: [one.values] for part, of_sides in found.items() if (one := of_sides[place]) is not None}
        for place in range(len(sides))
    ]
    rests = [_split([whole.values], of_side)[1][0].any() for whole, of_side in zip(wholes, recorded, strict=True)]
    known = {
        sides[0][0].catalogue[part].name: [
            np.zeros_like(whole.values) if one is None else one.values
            for one, whole in zip(of_sides, wholes, strict=True)
        ]
        for part, of_sides in found.items()
        if any(one is not None for one in of_sides)
        and not any(
            one is None and (rest or _is_recorded(part, side))
            for one, rest, side in zip(of_sides, rests, sides, strict=True)
        )
    }
    parts, left = _split([whole.values for whole in wholes], known)
    if parts and any(rest.any() for rest in left):
        parts[changed.rest] = left
    return [Costs(whole, {name: values[place] for name, values in parts.items()}) for place, whole in enumerate(wholes)]


def _split(
    wholes: Sequence[np.ndarray], parts: Mapping[str, Sequence[np.ndarray]]
) -> tuple[dict[str, Sequence[np.ndarray]], list[np.ndarray]]:
    """The parts that are inside of wholes, in their order, and what they leave; each has an array per side."""
    inside: dict[str, Sequence[np.ndarray]] = {}
    left = [whole.astype(np.float64) for whole in wholes]
    for name, values in parts.items():
        less = [rest - value for rest, value in zip(left, values, strict=True)]
        if min(float(one.min()) for one in less) >= -_ROUNDED * (len(inside) + 1):
            inside[name], left = values, less
    # What adding up floating-point numbers leaves is nothing.
    return inside, [
        np.where(np.abs(rest) < _NOTHING * whole, 0.0, rest) for rest, whole in zip(left, wholes, strict=True)
    ]


def block_changes(
    metric: Metric, costs: tuple[Costs, Costs], sides: Sequence[Sequence[Analysis]]
) -> BlockChanges | None:
    """Returns the blocks that changed between two sides; None where there are too few processes or blocks.

    Args:
        metric: Metric of the cost.
        costs: Costs of the baseline and of the candidate, over the same blocks.
        sides: Their analyses.
    """
    ours, theirs = (one.whole.values for one in costs)
    above = np.logical_and((ours > 0).all(axis=0), (theirs > 0).all(axis=0))
    if not above.any():
        return None
    found = changed_blocks(ours[:, above], theirs[:, above], margin=metric.margin)
    if found is None:
        return None
    classes = {name: mask[above] for name, mask in parts_of([*sides[0], *sides[1]], least=1).items()}
    means = _Means(costs, above)
    groups = [
        _group(found, named, higher, means, classes, sides[1][0], metric)
        for named, higher in ((found.higher, True), (found.lower, False))
        if named.any()
    ]
    return BlockChanges(
        metric=metric,
        blocks=int(above.sum()),
        median=float(np.exp(found.middle)),
        margin=metric.margin,
        groups=groups,
    )


class _Means:
    """Mean costs over processes, of the blocks that count, and what each part adds to the difference."""

    def __init__(self, costs: tuple[Costs, Costs], above: np.ndarray) -> None:
        self.keys = costs[0].whole.keys[above]
        self.baseline, self.candidate = (one.whole.values.mean(axis=0)[above] for one in costs)
        self.names = list(costs[0].parts)
        deltas = [(costs[1].parts[name].mean(axis=0) - costs[0].parts[name].mean(axis=0))[above] for name in self.names]
        self.parts = np.array(deltas).reshape(len(self.names), self.keys.size)

    def largest(self, block: int) -> str:
        """The part with the largest difference on a block."""
        return self.names[int(np.argmax(np.abs(self.parts[:, block])))] if self.names else ""


def _group(
    found: ChangedBlocks,
    named: np.ndarray,
    higher: bool,
    means: _Means,
    classes: Mapping[str, np.ndarray],
    analysis: Analysis,
    metric: Metric,
) -> ChangedGroup:
    deltas = means.candidate - means.baseline
    low, middle, high = np.quantile(found.ratios[named], (0.1, 0.5, 0.9))
    parts = [PartOfDelta(name, float(of[named].sum())) for name, of in zip(means.names, means.parts, strict=True)]
    places = np.flatnonzero(named)
    order = places[np.argsort(-np.abs(deltas[places]), kind="stable")]
    return ChangedGroup(
        higher=higher,
        ratio=float(middle),
        low=float(low),
        high=float(high),
        delta=float(deltas[named].sum()),
        parts=sorted(parts, key=lambda one: -abs(one.delta)),
        classes=[InClass(name, int(mask[named].sum()), int(mask.sum())) for name, mask in classes.items()],
        keys=[int(key) for key in means.keys[named]],
        worst=[
            ChangedBlock(
                key=int(means.keys[block]),
                about=analysis.about(metric.grain[-1], int(means.keys[block])),
                baseline=float(means.baseline[block]),
                candidate=float(means.candidate[block]),
                ratio=float(found.ratios[block]),
                largest=means.largest(int(block)),
            )
            for block in order[:SHOWN]
        ],
    )


def _is_recorded(part: str, side: Sequence[Analysis]) -> bool:
    """Returns whether any run of a side has a part."""
    return any(analysis.samples(part).table.num_rows for analysis in side)


def _required(side: Sequence[Analysis], metric: Metric) -> CostMatrix:
    found = costs_together(side, metric.id)
    if found is None:
        raise ComparisonError(
            f"{side[0].run.place} has no '{metric.name}': there is nothing to explain. Make the run again."
        )
    return found
