"""A sweep by a Ray cluster of one node beside the same sweep by as many processes of this machine, in turns: wall time and processor time of both.

on_ray.py [SEEDS [ROUNDS [CORES]]]

The cluster is of this benchmark alone: in a network namespace, as the tests of the engine have it.
"""

import os
import statistics
import sys
import tempfile
import time
from pathlib import Path

from tests.engine.ray_cluster import Cluster, missing

from slotmark.run import machine_facts

SWEEP = ["predict", "value-only-10.5", "--set", "slots=48000", "--sweep", "block_size=22kB..88kB", "--steps", "4"]
_TICKS = os.sysconf("SC_CLK_TCK")


def ticks(pid: int) -> int:
    """Processor time of a process and of its children that ended, in ticks; 0 where it has ended."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()
    except OSError:
        return 0
    return sum(map(int, fields[11:15]))


def took(made: Cluster, cores: int, *words: str | Path) -> tuple[float, float]:
    """Seconds of wall time and of processor time that a command takes, with all that Ray does meanwhile."""
    before, began = {pid: ticks(pid) for pid in made.a.processes()}, time.monotonic()
    used = os.times()
    done = made.a.run("taskset", "-c", f"0-{cores - 1}", sys.executable, "-m", "slotmark", *words, env=made.environment)
    if done.returncode:
        sys.exit(done.stderr)
    wall_s, after = time.monotonic() - began, os.times()
    of_ray = sum(ticks(pid) - before.get(pid, 0) for pid in made.a.processes()) / _TICKS
    own = after.children_user - used.children_user + after.children_system - used.children_system
    return wall_s, own + max(0.0, of_ray)


def main() -> None:
    """Prints a line per round and the medians of the ratios."""
    seeds, rounds, cores = (int(given) for given in [*sys.argv[1:], *["8", "3", "2"][len(sys.argv) - 1 :]])
    if why := missing():
        sys.exit(why)
    machine = machine_facts()
    print(f"machine: {machine.cpu}, {machine.cores} cores, of which both use {cores}")
    walls, processors = [], []
    with tempfile.TemporaryDirectory(prefix="sr-", dir="/tmp") as folder:
        made = Cluster(Path(folder))
        try:
            made.start(made.a, cores=cores)
            for number in range(rounds):
                out = Path(folder) / str(number)
                works = {"local": [], "ray": ["--engine", "ray"]}
                order = list(works) if number % 2 == 0 else list(works)[::-1]
                cost = {
                    name: took(made, cores, *SWEEP, "--seeds", str(seeds), *works[name], "-o", out / name)
                    for name in order
                }
                same = (out / "local" / "report.json").read_bytes() == (out / "ray" / "report.json").read_bytes()
                walls.append(cost["ray"][0] / cost["local"][0])
                processors.append(cost["ray"][1] / cost["local"][1])
                (wall_l, cpu_l), (wall_r, cpu_r) = cost["local"], cost["ray"]
                print(
                    f"round {number + 1}: local {wall_l:.1f} s, {cpu_l:.1f} s of processor time; Ray {wall_r:.1f} s, {cpu_r:.1f} s; "
                    f"ratios {walls[-1]:.3f}, {processors[-1]:.3f}; {'the same report' if same else 'NOT the same report'}",
                    flush=True,
                )
        finally:
            made.end()
    print(f"wall time, median of ratios: {statistics.median(walls):.3f} (goal: below 1.15)")
    print(f"processor time, median of ratios: {statistics.median(processors):.3f} (goal: below 1.10)")


if __name__ == "__main__":
    main()
