"""Ledger costs whose truth is known: blocks in three clusters of cost, as the 2023 study found them."""

from collections.abc import Iterator, Sequence

import msgspec
import numpy as np

from slotmark.compare.verdict import judge
from slotmark.statistics.block_ratio import Part, total_ratio, typical_ratio
from slotmark.statistics.rank_tests import holm
from slotmark.statistics.two_level import Estimate, hierarchical
from tests.compare.planted_courses import Course, autoregressive, ten_alike

CONFIDENCE = 0.95


class Noise(msgspec.Struct, frozen=True):
    """Standard deviations of log costs.

    Attributes:
        processes: Of a whole process.
        blocks: Of one block in one process.
        answers: Of how a block answers to what was planted.
    """

    processes: float
    blocks: float
    answers: float = 0.0


NOISES = {
    "blocks": Noise(0.0, 0.01),
    "processes": Noise(0.01, 0.0),
    "both": Noise(0.01, 0.01),
    "blocks that answer differently": Noise(0.0, 0.01, 0.02),
}
"""1 % noise, wherever it may come from."""


def recorded(
    draws: np.random.Generator, noise: Noise, *, truth: float = 1.0, processes: int = 5, blocks: int = 122
) -> tuple[np.ndarray, np.ndarray]:
    """Cost in microseconds of a baseline and of a candidate, whose typical block costs ``truth`` times as much.

    Shape (processes, blocks) each.
    """
    baseline, candidate = targets(draws, noise, [1.0, truth], processes=processes, blocks=blocks)
    return baseline, candidate


def targets(
    draws: np.random.Generator, noise: Noise, truths: Sequence[float], *, processes: int = 5, blocks: int = 122
) -> list[np.ndarray]:
    """As :func:`recorded`, of several targets; the first answers to nothing."""
    clusters = np.log(draws.choice([12_500.0, 32_000.0, 450_000.0], blocks, p=[0.35, 0.45, 0.2]))
    base = clusters + draws.normal(0, 0.05, blocks)
    sides = []
    for place, truth in enumerate(truths):
        answers = draws.normal(0, noise.answers, blocks) if noise.answers and place else 0.0
        of_processes = draws.normal(0, noise.processes, (processes, 1))
        of_blocks = draws.normal(0, noise.blocks, (processes, blocks))
        sides.append(np.exp(base + np.log(truth) + answers + of_processes + of_blocks))
    return sides


ANSWERS: dict[str, Course] = {
    "ten alike": ten_alike,
    "costly ten alike": ten_alike,
    "AR(1) 0.7": autoregressive(0.7),
    "AR(1) 0.9": autoregressive(0.9),
}
"""Ratios of blocks to the candidate of :func:`uneven` in the order of the chain, by the kind's name."""

COSTLY = 100_000.0
"""In us: of the three clusters of cost, the third is above."""


def uneven(
    draws: np.random.Generator, kind: str, processes: tuple[int, int], blocks: int = 122
) -> tuple[np.ndarray, np.ndarray]:
    """Two equal targets whose processes aren't normal, or whose neighbouring blocks change alike; shape (processes, blocks) each.

    Args:
        draws: Of everything.
        kind: ``skewed``: slower than the best by 2 % on average, exponentially; ``two modes``: 3 % apart, by chance; ``pauses in 5 %``: as :func:`paused`; one of
            :data:`ANSWERS`: blocks answer to the candidate so, by 2 %, all or the costly ones; else normal, 1 %.
        processes: Of each side.
        blocks: How many.
    """
    base = np.log(draws.choice([12_500.0, 32_000.0, 450_000.0], blocks, p=[0.35, 0.45, 0.2])) + draws.normal(
        0, 0.05, blocks
    )
    sides = []
    for place, count in enumerate(processes):
        shape = count, 1
        match kind:
            case "skewed":
                level = draws.exponential(0.02, shape)
            case "pauses in 5 %" | "pauses in 10 %":
                return paused(draws, processes, float(kind.split()[2]) / 100, blocks)
            case "two modes":
                level = 0.03 * (draws.random(shape) < 0.5) + draws.normal(0, 0.001, shape)
            case _:
                level = draws.normal(0, 0.002 if kind in ANSWERS else 0.01, shape)
        answers = _answers(draws, kind, base) if kind in ANSWERS and place else 0.0
        sides.append(np.exp(base + answers + level + draws.normal(0, 0.005, (count, blocks))))
    return sides[0], sides[1]


PAUSE_US = 60_000.0
"""About what a major GC takes."""


def paused(
    draws: np.random.Generator, processes: tuple[int, int], share: float, blocks: int = 122
) -> tuple[np.ndarray, np.ndarray]:
    """Two equal targets of which a pause hits each block of each process with this probability; shape (processes, blocks) each."""
    base = np.log(draws.choice([12_500.0, 32_000.0, 450_000.0], blocks, p=[0.35, 0.45, 0.2])) + draws.normal(
        0, 0.05, blocks
    )
    sides = []
    for count in processes:
        shape = count, blocks
        cost = np.exp(base + draws.normal(0, 0.005, (count, 1)) + draws.normal(0, 0.005, shape))
        sides.append(cost + (draws.random(shape) < share) * PAUSE_US * np.exp(draws.normal(0, 0.1, shape)))
    return sides[0], sides[1]


def _answers(draws: np.random.Generator, kind: str, base: np.ndarray) -> np.ndarray:
    """Shape (1, blocks), with a standard deviation of 2 % of the blocks that answer."""
    likeness = float(kind.removeprefix("AR(1) ")) if kind.startswith("AR(1)") else 0.0
    course = 0.02 * np.sqrt(1 - likeness**2) * ANSWERS[kind](draws, 1, base.size)
    return course * (base > np.log(COSTLY)) if kind.startswith("costly") else course


def estimated(baseline: np.ndarray, candidate: np.ndarray) -> list[Estimate]:
    """The typical block's and the sum's ratio."""
    return [
        hierarchical(effects, confidence=CONFIDENCE)
        for effects in (typical_ratio([Part(-1, baseline), Part(1, candidate)]), total_ratio(baseline, candidate))
    ]


def pairs(noise: Noise, processes: int, count: int, truth: float, *, seed: int) -> Iterator[list[Estimate]]:
    """Both estimates of so many made-up pairs; the same seed gives the same."""
    draws = np.random.default_rng([2026, processes, seed])
    for _ in range(count):
        yield estimated(*recorded(draws, noise, truth=truth, processes=processes))


def verdicts(found: Sequence[Estimate], margin: float) -> list[str]:
    """The verdicts of a report that tests these and nothing else: p-values are adjusted over them."""
    adjusted = holm([one.p for one in found])
    return [
        judge(one.ratio, p, margin=margin, better="lower", confidence=CONFIDENCE, tests=len(found)).verdict
        for one, p in zip(found, adjusted, strict=True)
    ]


def false(said: Sequence[str]) -> bool:
    """Returns whether a report on equal targets calls them different."""
    return bool({"better", "worse"} & set(said))
