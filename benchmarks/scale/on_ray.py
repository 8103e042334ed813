"""A Ray cluster beside this machine, in turns: wall and processor time of a sweep and of ingest, and of a sweep on two nodes of one core beside one.

The sweep is also done without Ray by one core and by two: two cores that share caches, or a processor's two threads, aren't twice as fast as one, and
no engine can be.

on_ray.py [small|full]

The cluster is of this benchmark alone: in network namespaces, as the tests of the engine have it.
"""

import os
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from benchmarks.scale.sizes import Size, asked, children_s
from tests.engine.ray_cluster import Cluster, missing

from slotmark.measure.process import stat_fields

TICKS = os.sysconf("SC_CLK_TCK")

LONGEST_S = 7_200
"""Seconds within which a command has to end."""


class Used:
    """Processor time of Ray's processes while this holds, looked at every now and then: its workers end with the command, without a trace of it.

    Attributes:
        seconds: It, at the end.
    """

    def __init__(self, made: Cluster) -> None:
        self._made, self._ended = made, threading.Event()
        self._before, self._most = self._ticks(), dict[int, int]()
        self._thread = threading.Thread(target=self._look, daemon=True)
        self.seconds = 0.0

    def __enter__(self) -> "Used":
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._ended.set()
        self._thread.join()
        self.seconds = sum(ticks - self._before.get(pid, 0) for pid, ticks in self._most.items()) / TICKS

    def _look(self) -> None:
        while True:
            last = self._ended.wait(0.2)
            self._most.update(self._ticks())
            if last:
                return

    def _ticks(self) -> dict[int, int]:
        found = {}
        for machine in (self._made.a, self._made.b):
            for pid, line in machine.processes().items():
                if "-m slotmark" in line or not any(one in line for one in ("ray::", "/ray/", "gcs_server")):
                    continue  # the command is waited for
                with suppress(OSError):
                    fields = stat_fields(pid)
                    found[pid] = int(fields[11]) + int(fields[12])
        return found


def both(made: Cluster, *words: str | Path, before: Sequence[str] = ()) -> tuple[float, float]:
    """Seconds of wall time and of processor time that a command takes, with those of Ray's processes meanwhile; `before` are words before the command."""
    used_before, began = children_s(), time.monotonic()
    with Used(made) as of_ray:
        done = made.a.run(*before, sys.executable, "-m", "slotmark", *words, env=made.environment, within_s=LONGEST_S)
        took_s = time.monotonic() - began
    if done.returncode:
        sys.exit(done.stderr)
    return took_s, children_s() - used_before + of_ray.seconds


def compared(
    what: str, made: Cluster, rounds: int, folder: Path, words: list[str], sides: dict[str, list[str]], file: str
) -> None:
    """Prints a line per round and the medians of the ratios of the second side to the first.

    Args:
        what: What is done, in a word.
        made: The cluster.
        rounds: How often.
        folder: For what is written.
        words: The command.
        sides: More words of each side.
        file: Of what is written, which must be the same.
    """
    first, second = sides
    wall, processor = [], []
    for number in range(rounds):
        took = {}
        for name in (first, second) if number % 2 == 0 else (second, first):
            took[name] = both(made, *words, *sides[name], "-o", folder / f"{what}-{number}-{name}")
        written = [(folder / f"{what}-{number}-{name}" / file).read_bytes() for name in (first, second)]
        wall.append(took[second][0] / took[first][0])
        processor.append(took[second][1] / took[first][1])
        print(
            f"{what}, round {number + 1}: {first} {took[first][0]:.1f} s ({took[first][1]:.1f} s of processor time), "
            f"{second} {took[second][0]:.1f} s ({took[second][1]:.1f} s), ratio {wall[-1]:.3f} ({processor[-1]:.3f}); "
            f"{'the same' if written[0] == written[1] else 'NOT the same'} {file}",
            flush=True,
        )
    print(
        f"{what}: {second} to {first}, median: wall time {statistics.median(wall):.3f}, processor time {statistics.median(processor):.3f}",
        flush=True,
    )


def nodes_beside_cores(made: Cluster, size: Size, folder: Path) -> None:
    """Prints how many times as fast a sweep is on two nodes of one core as on one, and by two cores of this machine as by one, without Ray."""
    sides: dict[str, tuple[list[str], list[str]]] = {
        "one node": ([], ["--engine", "ray", "--ray-label", "host=a"]),
        "two nodes": ([], ["--engine", "ray"]),
        "one core": (["taskset", "--cpu-list", "0"], []),
        "two cores": (["taskset", "--cpu-list", "0,1"], []),
    }
    by_nodes, by_cores = [], []
    for number in range(size.rounds):
        took = {}
        for name in sides if number % 2 == 0 else reversed(sides):
            before, words = sides[name]
            took[name], _ = both(made, *size.sweep, *words, "-o", folder / f"{name}-{number}", before=before)
        written = {(folder / f"{name}-{number}" / "report.json").read_bytes() for name in sides}
        by_nodes.append(took["one node"] / took["two nodes"])
        by_cores.append(took["one core"] / took["two cores"])
        print(
            f"sweep, round {number + 1}: {', '.join(f'{name} {seconds:.1f} s' for name, seconds in took.items())}: two nodes {by_nodes[-1]:.2f} times "
            f"as fast as one, two cores {by_cores[-1]:.2f} times; {'the same' if len(written) == 1 else 'NOT the same'} report.json",
            flush=True,
        )
    nodes, cores = statistics.median(by_nodes), statistics.median(by_cores)
    print(
        f"sweep, median: two nodes {nodes:.2f} times as fast as one; two cores, the machine's limit, {cores:.2f} times",
        flush=True,
    )


def of_a_piece(made: Cluster, folder: Path) -> tuple[float, float]:
    """Seconds of wall time that a command takes with Ray that does nothing, and that each piece takes which does nothing."""
    took = {}
    for pieces in (1, 401):
        began = time.monotonic()
        words = ("-m", "tests.engine.ray_pieces", "nothing", folder / f"nothing-{pieces}", str(pieces), folder)
        done = made.a.run(sys.executable, *words, env=made.environment)
        if done.returncode:
            sys.exit(done.stderr)
        took[pieces] = time.monotonic() - began
    return took[1], (took[401] - took[1]) / 400


_RAY_ALONE = """
import ray
ray.init("auto", log_to_driver=False, logging_level="ERROR")
nothing = ray.remote(lambda: None).options(num_cpus=1)
ray.get([nothing.remote() for _ in range(2)])
ray.shutdown()
"""
"""A driver without slotmark, that has a worker per core do nothing."""


def ray_alone(made: Cluster) -> tuple[float, float]:
    """Seconds of wall time and of processor time that Ray itself takes for a driver and its workers, without anything of ours."""
    before, began = children_s(), time.monotonic()
    with Used(made) as of_ray:
        done = made.a.run(sys.executable, "-c", _RAY_ALONE, env=made.environment)
        took_s = time.monotonic() - began
    if done.returncode:
        sys.exit(done.stderr)
    return took_s, children_s() - before + of_ray.seconds


def measured(made: Cluster, size: Size, folder: Path) -> None:
    """One node of two cores beside this machine, then two nodes of one core beside one of them."""
    ray = {"local": [], "ray": ["--engine", "ray"]}
    logs = folder / "logs"
    simulate = ["simulate", "value-only-10.5", "--slots", str(size.log_slots), "-o", str(logs)]
    subprocess.run([sys.executable, "-m", "slotmark", *simulate], check=True, capture_output=True)
    total = sum(file.stat().st_size for file in logs.rglob("*") if file.is_file())
    subprocess.run(
        [sys.executable, "-m", "slotmark", "ingest", str(logs), "-o", str(folder / "run")],
        check=True,
        capture_output=True,
    )
    tables = sum(file.stat().st_size for file in (folder / "run").rglob("*.parquet"))
    print(f"logs: {total / 1e6:,.0f} MB of 52 hosts, tables: {tables / total:.1%} of that", flush=True)
    made.start(made.a, cores=2)
    print("one node of two cores beside this machine; goals: wall time below 1.15, processor time below 1.10")
    alone = [ray_alone(made) for _ in range(5)]
    alone_s, alone_processor_s = (statistics.median(one) for one in zip(*alone, strict=True))
    print(
        f"Ray alone, a driver whose two workers do nothing, median of {len(alone)}: {alone_s:.1f} s, {alone_processor_s:.1f} s of processor time",
        flush=True,
    )
    start_s, piece_s = of_a_piece(made, folder)
    print(
        f"a command that has Ray do nothing: {start_s:.1f} s; each piece that does nothing: {1e3 * piece_s:.1f} ms",
        flush=True,
    )
    compared("sweep", made, size.rounds, folder, size.sweep, ray, "report.json")
    compared("ingest", made, size.rounds, folder, ["ingest", str(logs)], ray, "tables/slot_events/part-00000.parquet")
    made.a.end_processes()
    made.start(made.a)
    made.start(made.b)
    print("two nodes of one core beside one of them; goal: 1.9 times as fast")
    nodes_beside_cores(made, size, folder)


def main() -> None:
    """Prints all."""
    size = asked()
    if why := missing():
        sys.exit(why)
    with tempfile.TemporaryDirectory(prefix="sr-", dir="/tmp") as folder:
        made = Cluster(Path(folder))
        try:
            measured(made, size, Path(folder))
        finally:
            made.end()


if __name__ == "__main__":
    main()
