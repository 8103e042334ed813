"""Costs of transactions in a replay by our engine, in the terms in which those of db-analyser are published.

    PYTHONPATH=. benchmarks/replay/costs.py [BLOCKS]        300 by default

Two chains are forged, of value alone and of a countdown in Plutus V3 that lasts as long as its budget, and replayed on one core in turns. A
transaction's cost is that of all that `mut_blockApply` is: accounts, look-ups, both phases and the changes of unspent outputs. The published
costs are of another engine on another machine: they are a scale, no peer.
"""

import statistics
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from benchmarks.replay.one_core import replay

from slotmark.run import machine_facts

ROUNDS = 5
WITHOUT_SCRIPTS = ("accounts_ns", "resolve_ns", "phase_one_ns", "apply_ns")
WORKLOADS = ("value-only", "plutus-loop")
PUBLISHED_US = {
    "a transaction of value": 130.0,
    "a transaction with a script, without running it": 262.0,
    "10^9 steps of scripts": 949.0,
}
"""Dense value-only blocks, cardano-node 10.7.1 on a Ryzen 5850U (2026-08-12); and the linear model of the Leios team's simulator (2026w18)."""


def costs(workload: str, blocks: list[dict[str, Any]]) -> dict[str, float]:
    """Microseconds by what they are for: medians of the blocks of one process."""
    # The loop's first block has none: it locks the outputs that the others spend.
    full = [block for block in blocks if block["script_steps" if workload == "plutus-loop" else "transactions"]]
    each = statistics.median(
        sum(block[phase] for phase in WITHOUT_SCRIPTS) / block["transactions"] / 1e3 for block in full
    )
    value, script, steps = PUBLISHED_US
    if workload == "value-only":
        return {value: each}
    return {
        script: each,
        steps: statistics.median(block["phase_two_ns"] / block["script_steps"] * 1e6 for block in full),
    }


def main(blocks: int) -> None:
    """Prints a row by cost."""
    machine = machine_facts()
    print(
        f"{machine.cpu}, one of {machine.cores} cores, {machine.virtualisation}, {machine.kernel}; medians of {ROUNDS} processes"
    )
    found: dict[str, list[float]] = {name: [] for name in PUBLISHED_US}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for workload in WORKLOADS:
            words = ("chain", "synth", "--workload", workload, "--blocks", str(blocks), "-o", folder / workload)
            subprocess.run([Path(sys.executable).parent / "slotmark", *words], check=True, stdout=subprocess.DEVNULL)
        for _ in range(ROUNDS):
            for workload in WORKLOADS:
                for cost, us in costs(workload, replay(folder / workload, folder)[0]).items():
                    found[cost].append(us)
    print(f"{'us for':<50}{'ours':>10}{'published':>12}{'ratio':>8}")
    for cost, us in found.items():
        ours = statistics.median(us)
        print(f"{cost:<50}{ours:>10,.0f}{PUBLISHED_US[cost]:>12,.0f}{ours / PUBLISHED_US[cost]:>8.2f}")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 300)
