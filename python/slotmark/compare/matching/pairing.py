"""Pairing: samples of two runs that belong together, by their keys."""

import numpy as np

from slotmark.errors import ComparisonError
from slotmark.metrics import Key, Samples

_SHOWN = 5


def refuse_unmatched(baseline: Samples, candidate: Samples, part: str, names: tuple[str, str]) -> None:
    """Raises ComparisonError where one of two runs has a sample that the other has no counterpart of.

    Args:
        baseline: Samples of a metric.
        candidate: Samples of the same metric in another run.
        part: The part to pair in.
        names: Names of the two runs, for the error.
    """
    ours, theirs = baseline.within(part), candidate.within(part)
    grain = baseline.metric.grain
    if ours.num_rows == theirs.num_rows and all(ours[column].equals(theirs[column]) for column in grain):
        return
    keys = set(baseline.keys(part)), set(candidate.keys(part))
    only = [
        f"only {name} has {', '.join(grain)} {_some(mine - others)}"
        for name, mine, others in zip(names, keys, reversed(keys), strict=True)
        if mine - others
    ]
    raise ComparisonError(
        f"'{baseline.metric.id}' of {names[0]} and {names[1]} can't be paired in '{part}': {'; '.join(only)}. "
        "Runs of one session have the same: one of the two was changed by hand. Measure both again."
    )


def by_replicate(samples: Samples, part: str) -> np.ndarray:
    """One value a replicate, in their order: the geometric mean of its samples, all above zero.

    A replicate is what was repeated, as a round: the first grain column of a metric. Samples within one are not
    independent of each other, so that only replicates count as evidence.
    """
    values = samples.values(part)
    if len(samples.metric.grain) < 2:
        return values
    _, which = np.unique(samples.within(part)[samples.metric.grain[0]].to_numpy(), return_inverse=True)
    return np.exp(np.bincount(which, weights=np.log(values)) / np.bincount(which))


def replicates(samples: Samples, part: str) -> int:
    """Returns the number of replicates of a part."""
    rows = samples.within(part)
    return len(rows[samples.metric.grain[0]].unique()) if samples.metric.grain else rows.num_rows


def _some(keys: set[Key]) -> str:
    shown = ["/".join(map(str, key)) for key in sorted(keys)[:_SHOWN]]
    return ", ".join(shown) + (f" and {len(keys) - _SHOWN} more" if len(keys) > _SHOWN else "")
