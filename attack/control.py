"""An attack and its controls: the unharmed input must pass all the way, and faults that are planted in slotmark must be found."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import NamedTuple

from attack.ground import Fault, Ground
from attack.outcome import Tried

_INPUTS = 40
"""The number of inputs within which a planted fault must be found, unless the attack sets another."""


@dataclass(frozen=True)
class Attack:
    """An attack with its controls; ValueError where it has none.

    Attributes:
        name: Its row of the table.
        tries: How many inputs it tries.
        share: Its share of the time, beside those of the others.
        run: Tries a number of inputs that follow from a seed.
        unharmed: Gives an unchanged input to the attacked program; returns the fault in its result, empty where there is none.
        faults: What it must find where it is planted.
        inputs: Number of inputs within which each fault must be found.
    """

    name: str
    tries: int
    share: float
    run: Callable[[Ground, int, int], Iterator[Tried]]
    unharmed: Callable[[Ground], str]
    faults: tuple[Fault, ...]
    inputs: int = _INPUTS

    def __post_init__(self) -> None:
        if not self.faults:
            raise ValueError(f"{self.name}: an attack needs faults that it must find")


class Controlled(NamedTuple):
    """The number of an attack's controls, and those that failed."""

    controls: int
    failures: list[str]


def controlled(attack: Attack, ground: Ground, seed: int, faults: tuple[Fault, ...] | None = None) -> Controlled:
    """Tries the unharmed input, and the attack on slotmark with each of its faults, or of these."""
    failures = []
    if wrong := attack.unharmed(ground):
        failures.append(f"the unharmed input: {wrong}")
    planted = attack.faults if faults is None else faults
    for fault in planted:
        with ground.planted(fault):
            others = _missed(attack, ground, seed, fault)
        if others is not None:
            failures.append(f"planted and not found: {fault.what}; found instead: {others or 'nothing'}")
    return Controlled(1 + len(planted), failures)


def _missed(attack: Attack, ground: Ground, seed: int, fault: Fault) -> list[str] | None:
    """Returns the failures found instead of a fault; None where the fault was found."""
    others = [attack.unharmed(ground) if fault.shows_unharmed else ""]
    if fault.found in others[0]:
        return None
    for tried in attack.run(ground, seed, attack.inputs):
        if any(fault.found in failure for failure in tried.failures):
            return None
        others += tried.failures
    return [other for other in others if other][:3]
