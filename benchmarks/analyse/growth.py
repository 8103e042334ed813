"""Time and memory of `show` and `compare` over long runs, a process each: how both grow with the slots of hosts.

growth.py [FOLDER]: where runs are made and kept for another call; a temporary folder, which ends with the call, where none is named.
SLOT_SAMPLES=1,10,100,1000 has the sizes, in millions of slots of hosts, and HOSTS=52,1000 the clusters. Two runs of 100 million slots take 14 GB of disk.
"""

import os
import shutil
import sys
import tempfile
import time
from pathlib import Path

from benchmarks.analyse.long_runs import long_run, short_run

from slotmark.run import machine_facts, open_run

SLOTS = {52: 20_000, 1000: 1_000}
"""The slots of a short run, by its hosts: about a million slots of hosts."""

LIMIT_GIB = 2.0


def main() -> None:
    """Prints a line per command and size, with what it takes over the size before."""
    sizes = [int(one) for one in os.environ.get("SLOT_SAMPLES", "1,10").split(",")]
    clusters = [int(one) for one in os.environ.get("HOSTS", "52,1000").split(",")]
    facts = machine_facts()
    print(f"{facts.cpu}, {facts.cores} cores, {facts.memory_bytes / 2**30:.0f} GiB, load {os.getloadavg()[0]:.1f}")
    with tempfile.TemporaryDirectory(prefix="slotmark-") as temporary:
        folder = Path(sys.argv[1] if len(sys.argv) > 1 else temporary)
        for hosts in clusters:
            before: dict[str, tuple[float, float]] = {}
            for millions in sizes:
                runs = [_run(folder, hosts, millions, seed) for seed in (1, 2)]
                size = sum(part.bytes for run in runs for part in open_run(run).manifest.parts) / 2
                print(f"{hosts} hosts, {millions} million slots, {size / 1e9:.2f} GB a run")
                for command, arguments in {"show": [runs[0]], "compare": [*runs, "-o", folder / "report"]}.items():
                    wall, processor, peak = _measured(command, *map(str, arguments))
                    was = before.get(command)
                    grew = (
                        f", {processor / was[1]:.1f} times the processor time for {millions / was[0]:.0f} times the slots"
                        if was
                        else ""
                    )
                    over = "" if peak < LIMIT_GIB else f" (limit {LIMIT_GIB})"
                    print(
                        f"  {command}: {wall:.1f} s, {processor:.1f} s of processor time, peak {peak:.2f} GiB{over}{grew}",
                        flush=True,
                    )
                    before[command] = millions, processor
                if len(sys.argv) < 2:
                    for run in runs:
                        shutil.rmtree(run)


def _run(folder: Path, hosts: int, millions: int, seed: int) -> Path:
    """A run of so many slots, unless it is there."""
    short, long = folder / f"{hosts}-{seed}", folder / f"{hosts}-{millions}-{seed}"
    if not short.exists():
        short_run(short, hosts, SLOTS[hosts], seed)
    if not long.exists():
        long_run(short, long, max(1, round(millions * 1e6 / (hosts * SLOTS[hosts]))))
    return long


def _measured(command: str, *arguments: str) -> tuple[float, float, float]:
    """Wall time and processor time in seconds, and the peak of memory in GiB, of a command."""
    began = time.perf_counter()
    python = str(Path(sys.executable))
    quiet = [(os.POSIX_SPAWN_OPEN, 1, os.devnull, os.O_WRONLY, 0), (os.POSIX_SPAWN_OPEN, 2, os.devnull, os.O_WRONLY, 0)]
    child = os.posix_spawn(python, [python, "-m", "slotmark", command, *arguments], os.environ, file_actions=quiet)
    _, status, used = os.wait4(child, 0)
    if status:
        raise SystemExit(f"slotmark {command} {' '.join(arguments)}: exit code {os.waitstatus_to_exitcode(status)}")
    return time.perf_counter() - began, used.ru_utime + used.ru_stime, used.ru_maxrss / 2**20


if __name__ == "__main__":
    main()
