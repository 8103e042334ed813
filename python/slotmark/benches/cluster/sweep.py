"""Sweeps: the values that one parameter of a profile takes, from `PARAM=LOW..HIGH`."""

import math
import re
from enum import Enum

import msgspec

from slotmark import _core
from slotmark.errors import SimulationError
from slotmark.numbers import plain

GEOMETRIC_FROM = 4.0
"""Steps are geometric where the high end is at least this many times the low one."""

_RANGE = re.compile(r"\s*([A-Za-z_][\w.]*(?:\[[^\]=]*\][\w.]*)?)\s*=\s*(.+?)\s*\.\.\s*(.+?)\s*")


class Spacing(Enum):
    """The spacing of a sweep's steps."""

    auto = "auto"
    linear = "linear"
    geometric = "geometric"


class Sweep(msgspec.Struct, frozen=True):
    """A range of a parameter: `low` and `high` in `unit`; `whole` where it takes whole numbers only."""

    parameter: str
    low: float
    high: float
    unit: str
    spacing: Spacing
    whole: bool = False

    @property
    def geometric(self) -> bool:
        """Returns whether consecutive steps have one ratio; else one difference."""
        if self.spacing is Spacing.auto:
            return self.low > 0 and self.high >= GEOMETRIC_FROM * self.low
        return self.spacing is Spacing.geometric

    def values(self, steps: int) -> list[float]:
        """The values to try, in `unit`, rising: the ends as given, the others rounded by a tenth of a step at the most.

        Where only whole numbers are possible, there are no more values than whole numbers in the range.

        Raises:
            SimulationError: fewer than two steps.
        """
        if steps < 2:
            raise SimulationError(f"--steps {steps}: expected 2 or more, the two ends of the range among them.")
        if self.geometric:
            exact = [self.low * (self.high / self.low) ** (n / (steps - 1)) for n in range(steps)]
        else:
            exact = [self.low + (self.high - self.low) * n / (steps - 1) for n in range(steps)]
        between = [
            round(value) if self.whole else _rounded(value, min(value - before, after - value))
            for before, value, after in zip(exact, exact[1:], exact[2:], strict=False)
        ]
        return sorted({self.low, *between, self.high})

    def setting(self, value: float) -> str:
        """The setting (`key=value`) that gives the parameter this value."""
        return f"{self.parameter}={self.written(value)}"

    def written(self, value: float) -> str:
        """A value with its unit, as a profile has it."""
        return f"{plain(value)}{self.unit}"


def parse_sweep(text: str, spacing: Spacing = Spacing.auto) -> Sweep:
    """Reads `block_size=22kB..180kB`. One unit may be left out; with two, values are in the first.

    Raises:
        SimulationError: no range, ends of different kinds, or a range that doesn't rise.
    """
    match = _RANGE.fullmatch(text)
    low, high = (_core.quantity(end) for end in match.groups()[1:]) if match else (None, None)
    if match is None or low is None or high is None:
        raise SimulationError(f"--sweep {text}: expected PARAM=LOW..HIGH, as in block_size=22kB..180kB.")
    (begin, low_unit, low_kind, low_worth), (end, high_unit, high_kind, high_worth) = low, high
    unit = low_unit or high_unit
    if low_unit and high_unit:
        if low_kind != high_kind:
            raise SimulationError(
                f"--sweep {text}: `{low_unit}` and `{high_unit}` are no units of one kind; "
                "write both ends in one unit, as in block_size=22kB..180kB."
            )
        end *= high_worth / low_worth
    if not begin < end < math.inf:
        raise SimulationError(f"--sweep {text}: expected a low end below the high end.")
    if spacing is Spacing.geometric and begin == 0:
        raise SimulationError(f"--sweep {text}: geometric steps can't begin at 0; write a low end above it.")
    return Sweep(match[1], begin, end, unit, spacing)


def amount(text: str) -> float:
    """A quantity of a profile in the smallest unit of its kind: `88.962kB` is 88962.

    Raises:
        SimulationError: not a number with a known unit.
    """
    found = _core.quantity(text)
    if found is None:
        raise SimulationError(f"{text}: expected a number and a unit, as in 22kB.")
    number, _, _, worth = found
    return number * worth


def _rounded(value: float, gap: float) -> float:
    """The value with as few digits as leave it within a tenth of the gap to its neighbours."""
    return round(value, -math.floor(math.log10(gap / 5))) if gap > 0 else value
