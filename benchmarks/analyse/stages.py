"""Measures the time and memory of `show` and `compare`: one process each, by stage, for full runs."""

import contextlib
import multiprocessing
import os
import resource
import subprocess
import sys
import tempfile
import threading
import time
from collections import defaultdict
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from slotmark.metrics import Analysis
from slotmark.metrics.database import Database
from slotmark.run import machine_facts

GOALS = {"show": (8, 1), "compare": (20, 1)}
"""Seconds on two cores, and GiB."""


class Stages(threading.local):
    """Wall time by stage; time within an inner stage isn't the outer one's. Threads work side by side, so that all add up to more."""

    def __init__(self, seconds: defaultdict[str, float], of: defaultdict[str, float]) -> None:
        self.seconds, self.of = seconds, of
        self._open: list[str] = []
        self._since = time.perf_counter()

    @contextlib.contextmanager
    def stage(self, name: str) -> Iterator[None]:
        """Counts what happens within as this stage's."""
        self._switch()
        self._open.append(name)
        try:
            yield
        finally:
            self._switch()
            self._open.pop()

    def wrap(self, owner: type, method: str, name: str, which: Callable[..., str] | None = None) -> None:
        """Counts a method's time as a stage's; with ``which``, its own time also by what it says of the arguments."""
        inner = getattr(owner, method)

        def timed(*arguments: Any, **named: Any) -> Any:
            began = time.perf_counter()
            with self.stage(name):
                found = inner(*arguments, **named)
            if which:
                self.of[which(*arguments)] += time.perf_counter() - began
            return found

        setattr(owner, method, timed)

    def _switch(self) -> None:
        now = time.perf_counter()
        if self._open:
            self.seconds[self._open[-1]] += now - self._since
        self._since = now


def measured(command: str, folders: list[Path], results: "multiprocessing.Queue[Any]") -> None:
    """Runs a command with all its reports, and gives seconds by stage and relation, CPU time and peak memory."""
    stages = Stages(defaultdict(float), defaultdict(float))
    stages.wrap(Database, "__init__", "open")
    stages.wrap(Database, "open_table", "open")
    for make in ("make", "make_by_member", "make_natively"):
        stages.wrap(Database, make, "relations", lambda _database, name, _how: name)
    stages.wrap(Analysis, "samples", "samples")
    stages.wrap(Analysis, "facts", "facts and warnings")
    stages.wrap(Analysis, "warnings", "facts and warnings")
    began, used = time.perf_counter(), time.process_time()
    with stages.stage("start"):
        from slotmark.cli import app  # noqa: PLC0415 - loading it is part of what is measured

        out = ["-o", str(folders[0].parent / "report")] if command == "compare" else []
    with (
        stages.stage("estimates and report"),
        (folders[0].parent / "printed").open("w") as printed,
        contextlib.redirect_stdout(printed),
    ):
        app([command, *map(str, folders), *out], standalone_mode=False)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    results.put(
        (
            time.perf_counter() - began,
            time.process_time() - used,
            peak,
            dict(stages.seconds),
            sorted(stages.of.items(), key=lambda one: -one[1])[:6],
        )
    )


def main() -> None:
    """Simulates two runs, unless they are named, and prints the two commands' stages."""
    with tempfile.TemporaryDirectory() as temporary:
        runs = [Path(temporary) / name for name in ("a", "b")]
        if len(sys.argv) == 3:
            for link, named in zip(runs, sys.argv[1:], strict=True):
                link.symlink_to(Path(named).resolve())
        else:
            for seed, run in enumerate(runs, start=1):
                how = ["simulate", "value-only-10.5", "--direct", "--seed", str(seed), "-o", str(run)]
                subprocess.run([".venv/bin/python", "-m", "slotmark", *how], check=True, capture_output=True)
        facts = machine_facts()
        print(f"{facts.cpu}, {facts.cores} cores, {facts.memory_bytes / 2**30:.0f} GiB, load {os.getloadavg()[0]:.1f}")
        context = multiprocessing.get_context("spawn")
        for command, folders in {"show": runs[:1], "compare": runs}.items():
            results = context.Queue()
            process = context.Process(target=measured, args=(command, folders, results))
            process.start()
            seconds, used, peak, stages, slowest = results.get()
            process.join()
            goal_s, goal_gib = GOALS[command]
            print(
                f"{command}: {seconds:.1f} s (goal {goal_s}), {used:.1f} s of CPU, peak {peak:.2f} GiB (goal {goal_gib})"
            )
            print("  " + ", ".join(f"{name} {took:.1f} s" for name, took in stages.items()))
            print("  slowest relations: " + ", ".join(f"{name} {took:.1f} s" for name, took in slowest))


if __name__ == "__main__":
    main()
