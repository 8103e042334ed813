"""The tables of locli up to 2.2, which Emacs fills in: cells are cut off, and deltas come from what is left of them.

Checked against every row of the reports 10.6-pre against 10.5 (November 2025) and UTxO-HD against regular (February
2025). Known faults of the style, kept because they are what was printed:

- A delta below 0.0005 is printed as 0.000, and its percentage as 0 however large it is.
- A percentage comes from the delta's three decimals: -0.001 of 0.00175 is -57 where the truth is -35.
- Numbers of more than six digits lose their last digits without a sign: 1234567.8 is printed as 123456.
"""

from decimal import ROUND_HALF_UP, Decimal

import numpy as np

WIDTH = 6
"""Characters of a value, whatever the metric's own width is."""

COUNT_WIDTH = 4
"""Characters of a sample count."""

LABELS = {
    "cdfStarts": "Forge loop starts, #",
    "CentiMut": "RTS Mutator CPU usage, %",
    "GcsMajor": "Major GCs, #",
    "GcsMinor": "Minor GCs, #",
    "RSS": "Kernel RSS, MB",
    "Heap": "RTS heap size, MB",
    "Live": "RTS live GC dateset, MB",
    "Alloc": "RTS alloc rate, MB/s",
    "NetRd": "Network reads, KB/s",
    "NetWr": "Network writes, KB/s",
    "FsRd": "Filesystem reads, KB/s",
    "FsWr": "Filesystem writes, KB/s",
    "cdfBlocksFilteredRatio": "Filtered to chained block ratio, /",
    "cdfBlocksChainedRatio": "Chained to forged block ratio, /",
}
"""Labels of rows that differ from the metric's name and unit, as printed, by locli's field. Its MB and KB are of 2^20 and 2^10 bytes."""


def cell(value: float, width: int) -> str:
    """The value as Emacs shows it: cut, not rounded, to six characters, then read as a number again.

    The cutting drops the zero before the point; reading it again brings it back, and turns ``.00006`` into ``6e-05``,
    ``.00000`` into ``0.0`` and ``88962.`` into ``88962``. ``width`` changes nothing.
    """
    cut = _cut(value)
    return str(int(_read(cut)) if _whole(cut) else float(cut))


def printed_from(value: float, width: int) -> tuple[float, float]:
    """The lowest and the highest number that are cut to this one; of numbers of more than six digits too few are known."""
    size = abs(value)
    digits = len(str(int(size))) if size >= 1 else 0
    step = 10.0 ** -max(0, WIDTH - 1 - digits)
    return (value - step, value) if value < 0 else (value, value + step)


def delta(baseline: float, candidate: float, width: int) -> str:
    """The difference of the two printed cells, to three decimals; as a whole number where both cells are whole."""
    cuts = _cut(baseline), _cut(candidate)
    difference = _read(cuts[1]) - _read(cuts[0])
    return str(difference if all(map(_whole, cuts)) else _rounded(difference, "0.001"))


def percent(baseline: float, candidate: float, width: int) -> str:
    """The printed delta in percent of the printed baseline, rounded to a whole number; ``nan`` where the latter is 0."""
    base = _read(_cut(baseline))
    return str(int(_rounded(100 * Decimal(delta(baseline, candidate, width)) / base, "1"))) if base else "nan"


def count(samples: int) -> str:
    """The sample count in brackets; one of more than four digits is cut to three and a ``>``."""
    text = str(samples)
    return f"({text if len(text) <= COUNT_WIDTH else text[: COUNT_WIDTH - 1] + '>'})"


def _cut(value: float) -> str:
    """Returns the text that locli writes into the file that Emacs reads."""
    return np.format_float_positional(value, trim="0").removeprefix("0")[:WIDTH]


def _whole(cut: str) -> bool:
    """Returns whether Emacs takes the text for a whole number: no digits after the point."""
    return "." not in cut[:-1]


def _read(cut: str) -> Decimal:
    """The number as Emacs' calculator holds it: decimal, so that 2.2523 less 2.2408 is 0.0115 and rounds up."""
    return Decimal(cut)


def _rounded(value: Decimal, unit: str) -> Decimal:
    return value.quantize(Decimal(unit), ROUND_HALF_UP)
