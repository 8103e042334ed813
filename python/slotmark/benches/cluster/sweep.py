"""Sweeps: the values that one parameter of a profile takes, from `PARAM=LOW..HIGH`."""

import math
import re
from enum import Enum

import msgspec

from slotmark.errors import SimulationError

UNITS: tuple[dict[str, float], ...] = (
    {"ns": 1.0, "us": 1e3, "µs": 1e3, "ms": 1e6, "s": 1e9, "min": 6e10, "h": 3.6e12},
    {"B": 1.0, "kB": 1e3, "KiB": 1024.0, "MB": 1e6, "MiB": 1024.0**2, "GB": 1e9, "GiB": 1024.0**3},
    {"bit/s": 1.0, "kbit/s": 1e3, "Mbit/s": 1e6, "Gbit/s": 1e9},
    {"": 1.0},
)
"""The units that a profile knows, a table a kind of quantity, with what each is worth in the smallest of its kind."""

GEOMETRIC_FROM = 4.0
"""Steps are geometric where the high end is at least this many times the low one."""

_RANGE = re.compile(r"\s*([A-Za-z_][\w.]*)\s*=\s*(.+?)\s*\.\.\s*(.+?)\s*")
_QUANTITY = re.compile(r"((?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?)\s*([a-zA-Zµ/]*)")


class Spacing(Enum):
    """How the steps of a sweep lie."""

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
        """Whether consecutive steps have one ratio; else one difference."""
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
        return f"{value:.12g}{self.unit}"


def parse_sweep(text: str, spacing: Spacing = Spacing.auto) -> Sweep:
    """Reads `block_size=22kB..180kB`. One unit may be left out; with two, values are in the first.

    Raises:
        SimulationError: no range, ends of different kinds, or a range that doesn't rise.
    """
    match = _RANGE.fullmatch(text)
    ends = [_QUANTITY.fullmatch(end) for end in match.groups()[1:]] if match else []
    low, high = ends if len(ends) == 2 else (None, None)
    if match is None or low is None or high is None:
        raise SimulationError(f"--sweep {text}: expected PARAM=LOW..HIGH, as in block_size=22kB..180kB.")
    unit = low[2] or high[2]
    kind = next((kind for kind in UNITS if unit in kind and (high[2] or unit) in kind), None)
    if kind is None:
        raise SimulationError(
            f"--sweep {text}: `{unit}` and `{high[2] or unit}` are no units of one kind; "
            "write both ends in one unit, as in block_size=22kB..180kB."
        )
    begin, end = float(low[1]), float(high[1]) * (kind[high[2] or unit] / kind[unit])
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
    match = _QUANTITY.fullmatch(text.strip())
    for kind in UNITS:
        if match and match[2] in kind:
            return float(match[1]) * kind[match[2]]
    raise SimulationError(f"{text}: expected a number and a unit, as in 22kB.")


def _rounded(value: float, gap: float) -> float:
    """The value with as few digits as leave it within a tenth of the gap to its neighbours."""
    return round(value, -math.floor(math.log10(gap / 5))) if gap > 0 else value
