"""Ledger costs whose truth is known: blocks in three clusters of cost, as the 2023 study found them."""

import msgspec
import numpy as np


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
    clusters = np.log(draws.choice([12_500.0, 32_000.0, 450_000.0], blocks, p=[0.35, 0.45, 0.2]))
    base = clusters + draws.normal(0, 0.05, blocks)
    answers = np.log(truth) + (draws.normal(0, noise.answers, blocks) if noise.answers else 0.0)

    def side(logs: np.ndarray) -> np.ndarray:
        of_processes = draws.normal(0, noise.processes, (processes, 1))
        return np.exp(logs + of_processes + draws.normal(0, noise.blocks, (processes, blocks)))

    return side(base), side(base + answers)
