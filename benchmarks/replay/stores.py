"""Runs the stores in turns, each in a fresh process, and prints medians and ratios to the set in memory."""

import json
import random
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from typing import Any

BACKENDS = ("memory", "lsm", "lmdb")
GOAL_PER_S = 300_000
ROUNDS = 3
BLOCKS = 1_000
FLUSH_EVERY = 100


def once(program: str, backend: str, entries: int) -> dict[str, Any]:
    """Returns the output of one process."""
    with tempfile.TemporaryDirectory() as state:
        words = [program, "--backend", backend, "--entries", str(entries), "--state", state]
        words += ["--blocks", str(BLOCKS), "--flush-every", str(FLUSH_EVERY)]
        done = subprocess.run(words, capture_output=True, text=True, check=True)
    return json.loads(done.stdout)


def main(program: str, sizes: Sequence[int]) -> None:
    """Prints a line per store and size."""
    found: dict[tuple[int, str], list[dict[str, Any]]] = {}
    draws = random.Random(1)
    for entries in sizes:
        for _ in range(ROUNDS):
            for backend in draws.sample(BACKENDS, len(BACKENDS)):
                found.setdefault((entries, backend), []).append(once(program, backend, entries))
    print(
        f"{BLOCKS:,} blocks of 600 inputs and 600 outputs, a flush every {FLUSH_EVERY}; medians of {ROUNDS} processes"
    )
    heads = ("entries", "store", "in+out/s", "to memory", "typical us", "p99 us", "worst us", "peak MB", "disk MB")
    print("".join(f"{head:>12}" for head in heads))
    rates = {key: statistics.median(one["per_s"] for one in processes) for key, processes in found.items()}
    for (entries, backend), processes in sorted(
        found.items(), key=lambda item: (item[0][0], BACKENDS.index(item[0][1]))
    ):
        times = [
            statistics.median(one[f"block_{which}_us"] for one in processes) for which in ("median", "p99", "worst")
        ]
        peak = statistics.median(one["used"]["peak_bytes"] for one in processes) / 1e6
        disk = processes[0]["disk_bytes"]
        rate = rates[entries, backend]
        cells = [f"{entries:,}", backend, f"{rate:,.0f}", f"{rate / rates[entries, 'memory']:.3f}"]
        cells += [*(f"{time:,.0f}" for time in times), f"{peak:,.0f}", f"{disk / 1e6:,.0f}" if disk else "-"]
        print("".join(f"{cell:>12}" for cell in cells))
    million = rates.get((1_000_000, "memory"))
    if million is not None:
        met = "met" if million >= GOAL_PER_S else "missed"
        print(
            f"goal: {GOAL_PER_S:,} inputs and outputs per second in memory at 1,000,000 entries: {met} ({million:,.0f})"
        )


if __name__ == "__main__":
    main(sys.argv[1], [int(text) for text in sys.argv[2:]] or [100_000, 1_000_000, 10_000_000])
