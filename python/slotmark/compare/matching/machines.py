"""Machines: whether the hosts of two runs may be the same ones."""

from slotmark.metrics import Analysis
from slotmark.run import Manifest

_TELLING = ("hostname_hash", "cpu", "cores", "memory_bytes")
"""Facts of a machine by which another one is known; kernel and governor of one machine change."""


def on_same_machines(ours: Analysis, theirs: Analysis, key: str) -> bool:
    """Returns whether the values of one name may be the same machines in two runs: their address, their region, and the machine of all don't differ.

    Args:
        ours: A run.
        theirs: Another run.
        key: The column whose values are machines.
    """
    mine, other = ours.machines(key), theirs.machines(key)
    if mine is None or other is None or _apart(ours.run.manifest, theirs.run.manifest):
        return False
    return all(
        one is None or its is None or one == its
        for name in mine.keys() & other.keys()
        for one, its in zip(mine[name], other[name], strict=True)
    )


def _apart(ours: Manifest, theirs: Manifest) -> bool:
    """Returns whether two manifests record different machines; a simulated machine is none of those that are measured."""
    if ours.origin and theirs.origin and ours.origin != theirs.origin:
        return True
    mine, other = ours.machine, theirs.machine
    return (
        mine is not None and other is not None and any(getattr(mine, fact) != getattr(other, fact) for fact in _TELLING)
    )
