"""Processor time of a sweep in shards, one after the other, and of the same sweep in one call, in turns.

shards.py [small|full]
"""

import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

from benchmarks.scale.sizes import asked, children_s

SHARD_S = 25.0
"""Processor time of the simulations of a shard that the goal is of: five of 5 s."""


def processor_s(*commands: list[str]) -> float:
    """Seconds of processor time that some commands of slotmark and their processes take."""
    before = children_s()
    for command in commands:
        subprocess.run([sys.executable, "-m", "slotmark", *command], check=True, capture_output=True)
    return children_s() - before


def main() -> None:
    """Prints a line per round and medians."""
    size = asked()
    ratios, each_s = [], []
    for number in range(size.rounds):
        with tempfile.TemporaryDirectory(prefix="slotmark-") as folder:
            out, sweep = Path(folder), size.sweep
            shards = [
                [*sweep, "--shard", f"{one}/{size.shards}", "-o", str(out / "sweep")]
                for one in range(1, size.shards + 1)
            ]
            works = {
                "at once": [[*sweep, "-o", str(out / "alone")]],
                "in shards": [*shards, ["merge", str(out / "sweep"), "-o", str(out / "merged")]],
            }
            order = list(works) if number % 2 == 0 else list(works)[::-1]
            took = {name: processor_s(*works[name]) for name in order}
            found = statistics.median(processor_s(shards[0]) for _ in range(3))
            same = (out / "alone" / "report.json").read_bytes() == (out / "merged" / "report.json").read_bytes()
        ratios.append(took["in shards"] / took["at once"])
        each_s.append((took["in shards"] - took["at once"]) / size.shards)
        print(
            f"round {number + 1}: at once {took['at once']:.1f} s, in {size.shards} shards and a merge {took['in shards']:.1f} s of processor "
            f"time, ratio {ratios[-1]:.3f}, {each_s[-1]:.2f} s more per shard; one that finds all finished {found:.2f} s; "
            f"{'the same report' if same else 'NOT the same report'}",
            flush=True,
        )
    more = statistics.median(each_s)
    print(f"shards: ratio, median: {statistics.median(ratios):.3f}; {more:.2f} s more per shard")
    print(f"shards of {SHARD_S:.0f} s of simulations so take {more / SHARD_S:.1%} more (goal: below 3 %)")


if __name__ == "__main__":
    main()
