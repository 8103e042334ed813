"""Warnings about imported files."""

from collections.abc import Sequence

from slotmark.numbers import percent
from slotmark.statistics.warm_up import WarmUp
from slotmark.warnings import Warning


def one_process(target: str) -> Warning:
    """A target that was recorded once."""
    return Warning(
        "one_process",
        "Recorded by one process: it is unknown how much two processes of the same build differ, so nothing is known about "
        "the build, only about this process. Record it at least 5 times.",
        target,
    )


def machine_unknown(target: str) -> Warning:
    """Files that don't have the machine on which they were recorded."""
    return Warning(
        "machine_unknown",
        "The files don't have the machine on which they were recorded: give it in a study file, or make sure that it was one machine.",
        target,
    )


def unknown_columns(target: str, names: Sequence[str]) -> Warning:
    """Figures that aren't kept."""
    return Warning(
        "unknown_columns",
        f"Left out, since this slotmark doesn't support them: {', '.join(names)}.",
        target,
    )


def processes_differ(target: str, what: str, values: Sequence[str]) -> Warning:
    """Processes of one target that should be alike and aren't."""
    return Warning(
        "processes_differ",
        f"Its processes differ in {what}: {', '.join(values)}. Their spread holds that difference.",
        target,
    )


def totals_at_odds(target: str, share: float) -> Warning:
    """Totals that aren't the sum of mutator and GC."""
    return Warning(
        "totals_at_odds",
        f"In {share:.1%} of the blocks the total isn't the mutator's time plus GC within 2 us: the columns may have been changed by hand.",
        target,
    )


def missing_inputs(target: str, inputs: int) -> Warning:
    """A replay that didn't find what transactions refer to."""
    return Warning(
        "missing_inputs",
        f"{inputs:,} inputs were not among the unspent outputs: looking up what isn't there costs something else than finding it. Begin with the "
        "chain's first block, and give --genesis.",
        target,
    )


def warmed_up(target: str, typical: WarmUp, slot: int, processes: int, of: int) -> Warning:
    """Processes that warmed up, their number and that of all; their typical warm-up, and the slot of its last block."""
    return Warning(
        "warmed_up",
        f"The first {typical.blocks:,} blocks, up to slot {slot}, cost {percent(typical.excess)} more than later ones of their size, in {processes} of {of} "
        f"processes (the middle one is described): {percent(typical.share)} of all time is that. Nothing is left out. Take more blocks, or a "
        "fragment that begins behind them, where what follows the warm-up is in question.",
        target,
    )
