"""Processor time and memory of what runs beside the nodes of a live cluster on two machines: Ray's processes and slotmark's, by process, before nodes are started.

beside.py [SECONDS]

Two nodes of Ray in network namespaces, as the tests of the engine have them; the second one is started as docs/scale.md says for machines that measure.
"""

import os
import sys
import tempfile
import time
from collections import defaultdict
from contextlib import suppress
from pathlib import Path

from tests.engine.ray_cluster import Cluster, Machine, hosts_file, missing

from slotmark.benches.cluster.live.beside import CPU_LIMIT, MEMORY_LIMIT_BYTES, memory_bytes
from slotmark.measure.process import stat_fields
from slotmark.run import machine_facts, open_run

TICKS = os.sysconf("SC_CLK_TCK")
HOSTS = 4
SPARING = {
    "RAY_num_workers_soft_limit": "0",
    "RAY_kill_idle_workers_interval_ms": "1000",
    "RAY_raylet_report_resources_period_milliseconds": "1000",
    "RAY_raylet_check_gc_period_milliseconds": "1000",
    "RAY_memory_monitor_refresh_ms": "1000",
    "RAY_local_fs_monitor_interval_ms": "1000",
    "RAY_object_manager_timer_freq_ms": "1000",
}
"""The settings of docs/scale.md for machines that measure."""

KINDS = {
    "ray::Keeper": "slotmark's actor, a worker of Ray",
    "ray::DashboardAgent": "agents",
    "ray::RuntimeEnvAgent": "agents",
    "ray::": "other workers",
    "raylet/raylet": "raylet",
    "log_monitor": "log monitor",
    "gcs_server": "GCS",
    "dashboard": "dashboard",
    "monitor.py": "autoscaler's monitor",
    "slotmark-wakes": "slotmark-wakes",
    "-m slotmark cluster run": "the command",
    "multiprocessing": "the command's driver of Ray",
    "-m slotmark.measure.supervised": "slotmark's process for the machine's part",
}
"""Words for processes, by what their command lines have: the first that is found."""


def _kind(line: str) -> str:
    return next((words for part, words in KINDS.items() if part in line), "others")


def _used(machine: Machine) -> dict[int, tuple[str, int]]:
    """By process: its kind, and its ticks so far."""
    found = {}
    for pid, line in machine.processes().items():
        with suppress(OSError):  # it has ended
            fields = stat_fields(pid)
            found[pid] = _kind(line), int(fields[11]) + int(fields[12])
    return found


def measured(made: Cluster, folder: Path, seconds: int) -> None:
    """Prints what processes of each machine take, and what the run has of it."""
    hosts = hosts_file(folder, HOSTS)
    created = made.slotmark("cluster", "create", "value-only-5", "--hosts", str(HOSTS), "-o", folder / "bed")
    if created.returncode:
        sys.exit(created.stderr)
    words = ["--node", "slotmark", "--for", "12s", "--engine", "ray", "--hosts", str(hosts), "-o", str(folder / "out")]
    command = made.begin("cluster", "run", folder / "bed", *words, "--beside", f"{seconds + 4}s")
    assert command.stderr
    said = ""
    while "measuring for" not in said:
        if not (said := command.stderr.readline()):
            sys.exit(f"the command ended with exit code {command.wait()}")
    time.sleep(2)
    before = {one.name: _used(one) for one in (made.a, made.b)}
    began = time.monotonic()
    time.sleep(seconds)
    took = time.monotonic() - began
    for one, how in ((made.a, "the head, with the command"), (made.b, "a node, started as docs/scale.md says")):
        ticks, memory = defaultdict[str, int](int), defaultdict[str, int](int)
        for pid, (kind, now) in _used(one).items():
            ticks[kind] += now - before[one.name].get(pid, (kind, 0))[1]
            memory[kind] += memory_bytes(pid)
        print(f"{how}, over {took:.0f} s:")
        for kind in sorted(ticks, key=lambda kind: -ticks[kind]):
            print(f"  {100 * ticks[kind] / TICKS / took:5.2f} % of a core, {memory[kind] / (1 << 20):5.0f} MiB  {kind}")
        print(
            f"  {100 * sum(ticks.values()) / TICKS / took:5.2f} %, {sum(memory.values()) / (1 << 20):5.0f} MiB  all",
            flush=True,
        )
    _, errors = command.communicate()
    if command.returncode:
        sys.exit(errors)
    for row in open_run(folder / "out").table("beside").to_pylist():
        print(
            f"in the run, {row['machine']}: {row['cpu_ns'] / row['measured_ns']:.2%} of a core (goal {CPU_LIMIT:.0%}), "
            f"{row['memory_bytes'] / (1 << 20):.0f} MiB (goal {MEMORY_LIMIT_BYTES >> 20})"
        )


def main() -> None:
    """Prints the machine and all that was measured."""
    if why := missing():
        sys.exit(why)
    facts = machine_facts()
    print(f"machine: {facts.cpu}, {facts.cores} cores, load {os.getloadavg()[0]:.1f} before")
    with tempfile.TemporaryDirectory(prefix="sr-", dir="/tmp") as folder:
        made = Cluster(Path(folder))
        try:
            made.start(made.a)
            made.start(made.b, "--include-log-monitor=false", env=SPARING)
            measured(made, Path(folder), int(sys.argv[1]) if len(sys.argv) > 1 else 52)
        finally:
            made.end()


if __name__ == "__main__":
    main()
