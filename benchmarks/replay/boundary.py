"""Times of the boundary of an epoch by the number of delegators: the first block of an epoch in a replay by our engine, and blocks with a pulse of rewards.

    benchmarks/replay/boundary.py [DELEGATORS...]        10000 100000 1000000 by default

Chains are forged, with rewards, and replayed on one core. Beside each time stands its ratio to loading the genesis's outputs into the set in the same
process, one per delegator, and the time per delegator beside that of the smallest chain: 1.0 where time grows with the number.
"""

import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

from benchmarks.replay.one_core import replay

from slotmark.run import machine_facts

BLOCKS = 200
ROUNDS = 3
WITH_REWARDS = 2
"""Boundaries before there are rewards to be paid."""

GOAL_S, GOAL_GIB = 10, 2
"""For a million delegators."""


def forge(folder: Path, delegators: int) -> Path:
    """A chain of some ten epochs of 400 slots."""
    chain = folder / str(delegators)
    options = ("--workload", "value-only", "--blocks", str(BLOCKS), "-k", "2", "--delegators", str(delegators))
    subprocess.run([Path(sys.executable).parent / "slotmark", "chain", "synth", *options, "-o", chain], check=True)
    return chain


def replayed(chain: Path, folder: Path) -> tuple[float, float, float, float, float]:
    """Figures of one process: ms of a boundary with rewards, of a pulse and of the longest one, and of loading outputs; its largest resident set in MB."""
    blocks, end = replay(chain, folder)
    boundaries = [block["tick_ns"] / 1e6 for block in blocks if block["first_of_epoch"]][WITH_REWARDS:]
    pulses = [block["tick_ns"] / 1e6 for block in blocks if block["reward_pulse"] and not block["first_of_epoch"]]
    return (
        statistics.median(boundaries),
        statistics.median(pulses),
        max(pulses),
        end["load_ns"] / 1e6,
        end["peak_bytes"] / 1e6,
    )


def main(sizes: list[int]) -> None:
    """Prints a row by number of delegators."""
    machine = machine_facts()
    print(
        f"{machine.cpu}, one of {machine.cores} cores, {machine.virtualisation}, {machine.kernel}; medians of {ROUNDS} processes"
    )
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        chains = {size: forge(folder, size) for size in sizes}
        measured: dict[int, list[tuple[float, ...]]] = {size: [] for size in sizes}
        for _ in range(ROUNDS):
            for size, chain in chains.items():
                measured[size].append(replayed(chain, folder))
    heads = ("delegators", "boundary ms", "to loading", "ns/delegator", "growth", "pulse ms", "longest ms", "peak MB")
    print("".join(f"{head:>14}" for head in heads))
    least = None
    for size, rounds in measured.items():
        boundary, pulse, longest, load, peak = (statistics.median(one) for one in zip(*rounds, strict=True))
        each = boundary * 1e6 / size
        least = least or each
        cells = (
            f"{size:,}",
            f"{boundary:,.1f}",
            f"{boundary / load:.2f}",
            f"{each:,.0f}",
            f"{each / least:.2f}",
            f"{pulse:,.1f}",
            f"{longest:,.1f}",
            f"{peak:,.0f}",
        )
        print("".join(f"{cell:>14}" for cell in cells))
        if size == 1_000_000:
            met = "met" if boundary < GOAL_S * 1e3 and peak < GOAL_GIB * 2**30 / 1e6 else "missed"
            print(f"goal: {GOAL_S} s and {GOAL_GIB} GiB for a million delegators: {met}")


if __name__ == "__main__":
    main([int(size) for size in sys.argv[1:]] or [10_000, 100_000, 1_000_000])
