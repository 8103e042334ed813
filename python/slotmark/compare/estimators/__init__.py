"""Estimators: how the samples of a metric are compared, one file each behind one interface. The catalogue chooses."""

from slotmark.compare.estimators import blocks, means, pairs, processes, rounds, seeds
from slotmark.compare.estimators.interface import Entry, Estimate, Estimator, How, Measured, Task

ESTIMATORS: dict[str, Estimator] = {
    "rounds": rounds.estimate,
    "pairs": pairs.estimate,
    "means": means.estimate,
    "blocks": blocks.estimate,
    "processes": processes.estimate,
    "seeds": seeds.estimate,
}
"""By the name that the catalogue gives."""

__all__ = ["ESTIMATORS", "Entry", "Estimate", "Estimator", "How", "Measured", "Task"]
