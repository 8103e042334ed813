"""Pairing: samples of two runs that belong together, by their keys."""

from collections.abc import Sequence

import msgspec
import numpy as np
import pyarrow as pa

from slotmark.errors import ComparisonError
from slotmark.metrics import Key, Samples

_SHOWN = 5


class Pairs(msgspec.Struct, frozen=True):
    """The samples of two runs in one setting, side by side.

    Attributes:
        keys: One a pair, sorted.
        baseline: Shape (n,).
        candidate: Shape (n,), in the same order.
    """

    keys: list[Key]
    baseline: np.ndarray
    candidate: np.ndarray


def pair(baseline: Samples, candidate: Samples, setting: str, names: tuple[str, str]) -> Pairs:
    """Pairs the samples of one setting by key; the order of rows plays no part.

    Args:
        baseline: Samples of a metric.
        candidate: Samples of the same metric in another run.
        setting: The setting to pair in.
        names: Of the two runs, for the error.

    Raises:
        ComparisonError: One of them has a key that the other lacks.
    """
    ours, theirs = baseline.within(setting), candidate.within(setting)
    grain = baseline.metric.grain
    if ours.num_rows != theirs.num_rows or any(not ours[column].equals(theirs[column]) for column in grain):
        only = [
            f"only {name} has {', '.join(grain)} {_some(mine - others)}"
            for name, mine, others in (
                (names[0], set(baseline.keys(setting)), set(candidate.keys(setting))),
                (names[1], set(candidate.keys(setting)), set(baseline.keys(setting))),
            )
            if mine - others
        ]
        raise ComparisonError(
            f"'{baseline.metric.id}' of {names[0]} and {names[1]} can't be paired in '{setting}': {'; '.join(only)}. "
            "Runs of one session have the same: one of the two was changed by hand. Measure both again."
        )
    return Pairs(baseline.keys(setting), ours["value"].to_numpy(), theirs["value"].to_numpy())


def replicate_means(logs: np.ndarray, replicates: Sequence[int | str]) -> np.ndarray:
    """The mean log value of each replicate, in the order of the replicates.

    The first grain column of a metric is what was repeated, as the round. Samples within one are not independent.
    """
    _, which = np.unique(np.asarray(replicates), return_inverse=True)
    return np.bincount(which, weights=logs) / np.bincount(which)


def replicates(samples: Samples, setting: str) -> list[int | str]:
    """Which replicate each sample of a setting belongs to, in key order."""
    rows: pa.Table = samples.within(setting)
    return rows[samples.metric.grain[0]].to_pylist() if samples.metric.grain else [""] * rows.num_rows


def _some(keys: set[Key]) -> str:
    shown = ["/".join(map(str, key)) for key in sorted(keys)[:_SHOWN]]
    return ", ".join(shown) + (f" and {len(keys) - _SHOWN} more" if len(keys) > _SHOWN else "")
