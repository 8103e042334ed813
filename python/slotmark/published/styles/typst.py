"""The tables of locli 2.3: cells are rounded by the metric's width, deltas come from unrounded numbers.

Checked against the report 10.5.4 against 10.5 (February 2026). A known fault of the style, kept because it is what was
printed: a delta below 0.0001 is taken as none, and its percentage printed as 0 however large it is.
"""

import math

SMALLEST_DELTA = 1e-4
"""Deltas below this count as none; in whatever unit the metric has."""

MOST_FIXED_DECIMALS = 5
"""The most decimals at which the width decides; above, the size of the number does."""

LABELS = {
    "cdfStarts": "Forge loop starts, units",
    "CentiMut": "RTS Mutator CPU usage, %",
    "GcsMajor": "Major GCs, events",
    "GcsMinor": "Minor GCs, events",
    "Live": "RTS live GC dateset, MiB",
    "cdfBlocksFilteredRatio": "Filtered to chained blocks, :",
    "cdfBlocksChainedRatio": "Chained to forged blocks, :",
    "cdfBlockSize": "Block size, Bytes",
}
"""Labels of rows that differ from the metric's name and unit, as printed, by locli's field."""


def cell(value: float, width: int) -> str:
    """The value with one decimal more than the metric is wide, or with about five digits where it is wider than four.

    Zeros at the end are dropped, but not the point: ``8198.``. Numbers below 0.0001 are printed as ``6.6e-5``, those
    below 0.00001 as ``0.0``.
    """
    size = abs(value)
    if size < 1e-5:
        return "0.0"
    if size < 1e-4:
        digits, exponent = f"{value:.1e}".split("e")
        return f"{digits}e{int(exponent)}"
    decimals = width + 1
    text = f"{value:.{decimals if decimals <= MOST_FIXED_DECIMALS else _decimals(size)}f}"
    return text.rstrip("0") if decimals > 3 and "." in text else text


def printed_from(value: float, width: int) -> tuple[float, float]:
    """The lowest and the highest number that are rounded to this one."""
    size = abs(value)
    if size == 0:
        return -1e-5, 1e-5
    if size < 1e-4:
        return value - 5e-7, value + 5e-7
    decimals = width + 1
    half = 0.5 * 10.0 ** -(decimals if decimals <= MOST_FIXED_DECIMALS else _decimals(size))
    return value - half, value + half


def delta(baseline: float, candidate: float, width: int) -> str:
    """The difference to three decimals, ``0.000`` or ``-0.000`` where it is smaller than 0.0001; ``width`` changes nothing."""
    return f"{candidate - baseline:.3f}"


def percent(baseline: float, candidate: float, width: int) -> str:
    """The difference in percent of the baseline: one decimal below 1, none above, ``0`` where the difference counts as none.

    ``NaN`` where the baseline is 0. ``width`` changes nothing.
    """
    difference = candidate - baseline
    share = 100 * difference / baseline if baseline else math.nan
    if not math.isfinite(share):
        return "NaN"
    if abs(difference) < SMALLEST_DELTA:
        return "0"
    return f"{share:.1f}" if abs(share) < 1 else f"{share:.0f}"


def count(samples: int) -> None:
    """None: the style has no row for it."""


def _decimals(size: float) -> int:
    for decimals, from_size in enumerate((10_000, 1_000, 100, 10)):
        if size >= from_size:
            return decimals
    return 4
