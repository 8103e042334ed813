"""Machines on which sides were measured: alike, or too unlike for a difference to say anything about targets."""

from collections.abc import Sequence

from slotmark.compare.result import Side


def unlike_machines(sides: Sequence[Side]) -> list[str]:
    """Returns what machines of the sides' runs differ in, in words, with the values of each; empty where all are of one kind.

    A kind of machine is that of :attr:`slotmark.run.MachineFacts.kind`. Runs without facts about their machine, as those of simulated clusters, are not looked at.
    """
    kinds = [one.machine.kind for side in sides for one in side.manifests if one.machine is not None]
    names = dict.fromkeys(name for kind in kinds for name in kind)
    found = {name: list(dict.fromkeys(kind.get(name, "unknown") for kind in kinds)) for name in names}
    return [f"{name} ({', '.join(values)})" for name, values in found.items() if len(values) > 1]
