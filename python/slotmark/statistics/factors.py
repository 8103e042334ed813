"""Factors: what a level of one does over all levels of the others, and what two levels do together."""

from collections.abc import Mapping, Sequence
from itertools import product

import msgspec
import numpy as np

from slotmark.statistics.block_ratio import Part, typical_ratio
from slotmark.statistics.interval import Interval
from slotmark.statistics.two_level import hierarchical

Levels = tuple[str, ...]


class FactorEffect(msgspec.Struct, frozen=True, kw_only=True):
    """The effect of one level of a factor, or of two levels together beyond the effect of each.

    Attributes:
        name: As ``ghc 9.6 over 8.10``, or ``ghc 9.6 with branch split``.
        interaction: Whether it is the second.
        ratio: The typical block's; of an interaction the ratio of two ratios.
        p: Two-sided, of a ratio of 1, not adjusted.
        within_runs_only: Whether the interval leaves out how much processes differ.
    """

    name: str
    interaction: bool
    ratio: Interval
    p: float
    within_runs_only: bool


def factor_effects(
    names: Sequence[str], costs: Mapping[Levels, np.ndarray], *, confidence: float
) -> list[FactorEffect]:
    """Main effects and two-way interactions against each factor's first level, in log cost, from the same blocks.

    Args:
        names: Names of one factor or two.
        costs: By levels, the baseline's first; each shape (processes, blocks), all above 0.
        confidence: Confidence of each interval.

    Returns:
        Empty where not every combination of levels is there, or a factor has one level.
    """
    levels = [list(dict.fromkeys(place[index] for place in costs)) for index in range(len(names))]
    if not names or len(names) > 2 or set(product(*levels)) != set(costs) or min(map(len, levels)) < 2:
        return []
    contrasts: list[tuple[str, bool, dict[Levels, float]]] = []
    for index, name in enumerate(names):
        base, *others = levels[index]
        rest = len(costs) // len(levels[index])
        for level in others:
            weights = {place: ((place[index] == level) - (place[index] == base)) / rest for place in costs}
            contrasts.append((f"{name} {level} over {base}", False, weights))
    if len(names) == 2:
        (first, *firsts), (second, *seconds) = levels
        for one, other in product(firsts, seconds):
            weights = {(one, other): 1.0, (one, second): -1.0, (first, other): -1.0, (first, second): 1.0}
            contrasts.append((f"{names[0]} {one} with {names[1]} {other}", True, weights))
    found = []
    for name, interaction, weights in contrasts:
        parts = [Part(weight, costs[levels_]) for levels_, weight in weights.items() if weight]
        estimate = hierarchical(typical_ratio(parts), confidence=confidence)
        found.append(
            FactorEffect(
                name=name,
                interaction=interaction,
                ratio=estimate.ratio,
                p=estimate.p,
                within_runs_only=estimate.within_runs_only,
            )
        )
    return found
