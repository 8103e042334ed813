"""A sweep by a Ray cluster of one node beside the same sweep by as many processes of this machine, in turns: wall time of both.

on_ray.py [SEEDS [ROUNDS [CORES]]]

The cluster is of this benchmark alone: in a network namespace, as the tests of the engine have it.
"""

import statistics
import sys
import tempfile
import time
from pathlib import Path

from tests.engine.ray_cluster import Cluster, missing

from slotmark.run import machine_facts

SWEEP = ["predict", "value-only-10.5", "--set", "slots=48000", "--sweep", "block_size=22kB..88kB", "--steps", "4"]


def took_s(made: Cluster, cores: int, *words: str | Path) -> float:
    """Seconds of wall time that a command takes."""
    began = time.monotonic()
    done = made.a.run("taskset", "-c", f"0-{cores - 1}", sys.executable, "-m", "slotmark", *words, env=made.environment)
    if done.returncode:
        sys.exit(done.stderr)
    return time.monotonic() - began


def main() -> None:
    """Prints a line per round and the medians of the ratios."""
    seeds, rounds, cores = (int(given) for given in [*sys.argv[1:], *["8", "3", "2"][len(sys.argv) - 1 :]])
    if why := missing():
        sys.exit(why)
    machine = machine_facts()
    print(f"machine: {machine.cpu}, {machine.cores} cores, of which both use {cores}")
    ratios = []
    with tempfile.TemporaryDirectory(prefix="sr-", dir="/tmp") as folder:
        made = Cluster(Path(folder))
        try:
            made.start(made.a, cores=cores)
            for number in range(rounds):
                out = Path(folder) / str(number)
                works = {"local": [], "ray": ["--engine", "ray"]}
                order = list(works) if number % 2 == 0 else list(works)[::-1]
                cost = {
                    name: took_s(made, cores, *SWEEP, "--seeds", str(seeds), *works[name], "-o", out / name)
                    for name in order
                }
                same = (out / "local" / "report.json").read_bytes() == (out / "ray" / "report.json").read_bytes()
                ratios.append(cost["ray"] / cost["local"])
                print(
                    f"round {number + 1}: local {cost['local']:.1f} s, Ray {cost['ray']:.1f} s, ratio {ratios[-1]:.3f}; "
                    f"{'the same report' if same else 'NOT the same report'}",
                    flush=True,
                )
        finally:
            made.end()
    print(f"ratio, median: {statistics.median(ratios):.3f} (goal: below 1.15)")


if __name__ == "__main__":
    main()
