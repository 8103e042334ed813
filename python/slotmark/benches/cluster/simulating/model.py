"""Parameters that the simulator's model has: one that it lacks is refused where it is set, and warned of where two profiles differ in it."""

import tomllib
from collections.abc import Iterable, Sequence
from enum import Enum
from pathlib import Path

from slotmark import _core
from slotmark.benches.cluster.simulating.simulate import extended_profile, load_profile, parameters
from slotmark.errors import SimulationError
from slotmark.metrics.catalogue import catalogue
from slotmark.warnings import Warning


class Reach(Enum):
    """The effect of a parameter on a simulation; crates/clustersim/src/profile/reach.rs has it for each."""

    blocks = "blocks"
    logs = "logs"
    label = "name"
    nothing = "nothing"


PREDICTED = frozenset({Reach.blocks})
"""Reaches of parameters that may be set where blocks are predicted."""

SIMULATED = frozenset({Reach.blocks, Reach.logs, Reach.label})
"""Reaches of parameters that may be set where logs are written."""

_IN_FULL = 3
"""The most parameters of one table that are named one by one."""


def reach(parameter: str) -> Reach:
    """Returns the reach of a parameter, by its full name."""
    return Reach(_core.parameter_reach(parameter))


def differing(was: str, now: str) -> list[str]:
    """The full names of the parameters in which two whole profiles, as TOML texts, differ."""
    ours, theirs = (parameters(tomllib.loads(text)) for text in (was, now))
    return [name for name in {**ours, **theirs} if ours.get(name) != theirs.get(name)]


def refuse_outside(changed: Iterable[str], text: str, taken: frozenset[Reach]) -> None:
    """Refuses a change of parameters that reach less than it is meant to change.

    Args:
        changed: Full names of the parameters that are set.
        text: The whole profile, of which the answer names what it may be.
        taken: How far they may reach: ``PREDICTED`` or ``SIMULATED``.

    Raises:
        SimulationError: One of them reaches no further than something else.
    """
    for name in changed:
        if reach(name) in taken:
            continue
        why = {
            Reach.logs: "moves no block of the model, only what hosts log beside; use `slotmark simulate --set` and compare the runs",
            Reach.label: "names something and changes nothing that is predicted",
        }.get(reach(name), "not in the model: setting it would change nothing")
        raise SimulationError(f"{name}: {why}. In the model are {_model(text, taken - {Reach.label})}.")


def refuse_settings(
    profile: str | Path, settings: Sequence[str], taken: frozenset[Reach], base: str | Path | None = None
) -> None:
    """As :func:`refuse_outside`, of ``key=value`` settings of a profile, which is laid over ``base`` where it extends nothing."""
    text = load_profile(profile, (), base)
    refuse_outside(differing(text, load_profile(profile, settings, base)), text, taken)


def outside_of(beside: str, changed: Iterable[str], taken: frozenset[Reach]) -> list[Warning]:
    """A warning where a profile differs from the one named ``beside`` in parameters that the simulation doesn't take; names aside."""
    outside = [name for name in changed if reach(name) not in {*taken, Reach.label}]
    return (
        [catalogue("prediction").warning("not_in_model", beside=beside, parameters=_grouped(outside))]
        if outside
        else []
    )


def outside_of_extended(profile: str | Path, taken: frozenset[Reach]) -> list[Warning]:
    """As :func:`outside_of`, of a profile file beside the whole profile that it extends; none where it extends no such profile."""
    try:
        name, text = extended_profile(profile)
    except SimulationError:
        return []
    return outside_of(name, differing(text, load_profile(profile)), taken)


def _grouped(names: Sequence[str]) -> list[str]:
    """The names, by table where there are many of one."""
    tables: dict[str, list[str]] = {}
    for name in names:
        tables.setdefault(name.partition(".")[0], []).append(name)
    return [
        text
        for table, of in tables.items()
        for text in (of if len(of) <= _IN_FULL else [f"{len(of)} parameters of {table}"])
    ]


def _model(text: str, taken: frozenset[Reach]) -> str:
    """Returns the parameters with a reach among those, in words: ``genesis (slot_length, epoch_slots), network, tcp``."""
    tables: dict[str, dict[str, bool]] = {}
    for name in parameters(tomllib.loads(text)):
        table, _, inner = name.partition(".")
        tables.setdefault(table.partition("[")[0], {})[inner] = reach(name) in taken
    tables.setdefault("fault", {"": True})
    found = []
    for table, inside in tables.items():
        inner = [name for name, has in inside.items() if has]
        if inner:
            found.append(table if len(inner) == len(inside) else f"{table} ({', '.join(inner)})")
    return ", ".join(found)
