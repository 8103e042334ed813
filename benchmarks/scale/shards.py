"""Processor time of a sweep in shards, one after the other, and of the same sweep in one call, in turns.

shards.py [SHARDS [SEEDS [ROUNDS]]]
"""

import resource
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

from slotmark.run import machine_facts

SWEEP = ["predict", "value-only-10.5", "--set", "slots=48000", "--sweep", "block_size=22kB..88kB", "--steps", "4"]


def processor_s(*commands: list[str]) -> float:
    """Seconds of processor time that some commands of slotmark and their processes take."""
    before = _of_children()
    for command in commands:
        subprocess.run([sys.executable, "-m", "slotmark", *command], check=True, capture_output=True)
    return _of_children() - before


def _of_children() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def main() -> None:
    """Prints a line per round and the median of the ratios."""
    shards, seeds, rounds = (int(given) for given in [*sys.argv[1:], *["8", "8", "3"][len(sys.argv) - 1 :]])
    machine = machine_facts()
    print(f"machine: {machine.cpu}, {machine.cores} cores")
    ratios = []
    for number in range(rounds):
        with tempfile.TemporaryDirectory(prefix="slotmark-") as folder:
            out = Path(folder)
            sweep = [*SWEEP, "--seeds", str(seeds)]
            works = {
                "at once": [[*sweep, "-o", str(out / "alone")]],
                "in shards": [
                    *([*sweep, "--shard", f"{one}/{shards}", "-o", str(out / "sweep")] for one in range(1, shards + 1)),
                    ["merge", str(out / "sweep"), "-o", str(out / "merged")],
                ],
            }
            order = list(works) if number % 2 == 0 else list(works)[::-1]
            took = {name: processor_s(*works[name]) for name in order}
            same = (out / "alone" / "report.json").read_bytes() == (out / "merged" / "report.json").read_bytes()
        ratios.append(took["in shards"] / took["at once"])
        each_s = (took["in shards"] - took["at once"]) / shards
        print(
            f"round {number + 1}: at once {took['at once']:.1f} s, in {shards} shards {took['in shards']:.1f} s of processor time, "
            f"ratio {ratios[-1]:.3f}, {each_s:.2f} s more per shard; {'the same report' if same else 'NOT the same report'}"
        )
    print(f"ratio, median: {statistics.median(ratios):.3f} (goal: below 1.03)")


if __name__ == "__main__":
    main()
