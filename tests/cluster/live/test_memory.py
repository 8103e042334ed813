"""The memory that is left is read from the kernel; where nodes take all of it the run ends in a line, and what was measured is kept."""

import os
from pathlib import Path

import pytest

from slotmark.benches.cluster.live.cluster import Progress
from slotmark.benches.cluster.live.conducting import run_live
from slotmark.benches.cluster.live.memory import FILES_IN_MEMORY, Holder, Memory, memory_holders, memory_left
from slotmark.benches.cluster.live.request import Request
from slotmark.benches.cluster.live.sampling import rss_bytes
from slotmark.benches.cluster.live.sites.part import Part
from slotmark.errors import TargetError
from slotmark.run import open_run
from tests.cluster.live.machine import of_conductor, skip_without_programs, stand_in_recipe
from tests.cluster.live.stand_in import MEAL_BYTES

HOSTS = 2
GIB = 1 << 30


def request_for(bed: Path, tmp_path: Path, *more: str) -> Request:
    """A run of stand-ins that would last for ten minutes."""
    folder = stand_in_recipe(tmp_path, HOSTS, *more)
    return Request(
        bed=bed,
        node=str(folder),
        seconds=600,
        out=tmp_path / "live",
        network="loopback",
        start_within_s=1,
        ready_within_s=300,
        grace_s=30,
        workload=False,
    )


def planted() -> Memory:
    """As if the machine had no more than one stand-in takes when it eats."""
    used = sum(rss_bytes(pid) for pid in of_conductor(os.getpid()))
    return Memory(MEAL_BYTES - used, MEAL_BYTES)


def test_nodes_that_take_all_memory_before_the_measurement_end_the_run(bed: Path, tmp_path: Path) -> None:
    request = request_for(bed, tmp_path, "--eats")
    with pytest.raises(TargetError, match="memory ran short") as raised:
        run_live(request, lambda _progress: None, memory=planted)
    said = str(raised.value)
    assert "MiB each on average. Use fewer --hosts, or make a bed with a smaller genesis" in said
    assert "--set utxo_entries=10000 --set delegators=1000" in said
    assert "\n" not in said
    assert not of_conductor(os.getpid())
    assert not Path(str(request.out)).exists()


def test_memory_that_is_short_before_any_node_runs_ends_the_run(bed: Path, tmp_path: Path) -> None:
    request = request_for(bed, tmp_path)
    with pytest.raises(TargetError) as raised:
        run_live(request, lambda _progress: None, memory=lambda: Memory(GIB - (1 << 20), 64 * GIB))
    said = str(raised.value)
    assert (
        "1,023 MiB of 65,536 MiB were available, less than 1,024 MiB, and no node was running. Others hold the most: "
        in said
    )
    assert not Path(str(request.out)).exists()


def test_what_was_measured_before_nodes_took_all_memory_is_kept(bed: Path, tmp_path: Path) -> None:
    request = request_for(bed, tmp_path)

    def feed(progress: Progress) -> None:
        if progress.left_s is not None and progress.left_s < request.seconds - 2:
            (request.logs / "node-1" / "eat").touch()

    live = run_live(request, feed, memory=planted)
    assert "memory ran short" in live.cut
    assert not live.interrupted
    assert not of_conductor(os.getpid())
    run = open_run(request.out)
    found = {warning.kind: warning for warning in run.manifest.warnings}
    assert "memory ran short" in found["cut_short"].text
    assert not found.keys() & {"node_died", "node_killed"}
    assert 2 < run.manifest.observed["measured, s"] < 600
    assert len(run.table("node_usage")) > 0


def test_a_workload_that_was_ended_for_the_memory_is_not_reported_as_broken(bed: Path, tmp_path: Path) -> None:
    skip_without_programs()
    request = Request(
        bed=bed, node="slotmark", seconds=60, out=tmp_path / "live", network="loopback", ready_within_s=300, grace_s=30
    )
    acknowledged: list[float] = []

    def note(progress: Progress) -> None:
        if progress.tps:
            acknowledged.append(progress.tps)

    live = run_live(request, note, memory=lambda: Memory(0 if acknowledged else 2 * GIB, 2 * GIB))
    assert "memory ran short" in live.cut
    run = open_run(request.out)
    kinds = {warning.kind for warning in run.manifest.warnings}
    assert "cut_short" in kinds
    assert "workload_broke" not in kinds
    assert run.table("submissions").num_rows > 0


def test_memory_is_looked_at_again_before_it_can_run_short(tmp_path: Path) -> None:
    """Once a second where there is plenty, at every call where there is little."""
    looks: list[Memory] = []
    for found, expected in ((Memory(60 * GIB, 64 * GIB), 1), (Memory(GIB, 64 * GIB), 3)):

        def left(found: Memory = found) -> Memory:
            looks.append(found)
            return found

        part = Part(tmp_path, left, lambda: None)
        for _ in range(3):
            part.check_memory()
        assert looks.count(found) == expected
        assert part.memory_lasts_s <= 1


def plant(root: Path, files: dict[str, str]) -> Path:
    """Files as the kernel has them, below a folder."""
    for name, text in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)
    return root


MACHINE = {
    "proc/meminfo": f"MemTotal:       {32 << 20} kB\nMemFree:  1 kB\nMemAvailable:   {8 << 20} kB\nHugePages_Total:       0\n"
}


def group(folder: str, limit: str, used: int, cache: int) -> dict[str, str]:
    """A group of version 2."""
    slab = cache // 8
    statistics = f"anon 5\nactive_file {slab}\ninactive_file {cache - 2 * slab}\nslab_reclaimable {slab}\n"
    return {
        f"{folder}/memory.max": f"{limit}\n",
        f"{folder}/memory.current": f"{used}\n",
        f"{folder}/memory.stat": statistics,
    }


@pytest.mark.parametrize(
    ("files", "expected"),
    [
        ({}, Memory(8 * GIB, 32 * GIB)),
        ({"proc/self/cgroup": "0::/\n"}, Memory(8 * GIB, 32 * GIB)),
        (
            {"proc/self/cgroup": "0::/a/b\n", **group("sys/fs/cgroup/a/b", "max", GIB, 0)},
            Memory(8 * GIB, 32 * GIB),
        ),
        (
            {
                "proc/self/cgroup": "0::/a/b\n",
                **group("sys/fs/cgroup/a/b", "max", GIB, 0),
                **group("sys/fs/cgroup/a", str(4 * GIB), 3 * GIB + GIB // 2, GIB // 4),
            },
            Memory(GIB // 2 + GIB // 4, 4 * GIB),
        ),
        (
            # What has more left, measured by what it has to have, doesn't count.
            {"proc/self/cgroup": "0::/a\n", **group("sys/fs/cgroup/a", str(4 * GIB), GIB, 0)},
            Memory(8 * GIB, 32 * GIB),
        ),
        (
            # The larger share, but less than it has to have; the machine has enough.
            {
                "proc/meminfo": f"MemTotal: {1_000 << 20} kB\nMemAvailable: {8 << 20} kB\n",
                "proc/self/cgroup": "0::/a\n",
                **group("sys/fs/cgroup/a", str(100 << 20), 97 << 20, 0),
            },
            Memory(3 << 20, 100 << 20),
        ),
        (
            {
                "proc/self/cgroup": "4:memory:/x\n1:cpu:/\n0::/\n",
                "sys/fs/cgroup/memory/x/memory.limit_in_bytes": str(2 * GIB),
                "sys/fs/cgroup/memory/x/memory.usage_in_bytes": str(2 * GIB),
                "sys/fs/cgroup/memory/x/memory.stat": "active_file 1\ntotal_inactive_file 4096\ntotal_active_file 8192\n",
            },
            Memory(12_288, 2 * GIB),
        ),
    ],
)
def test_the_memory_left_is_the_machines_or_the_least_of_its_groups(
    tmp_path: Path, files: dict[str, str], expected: Memory
) -> None:
    assert memory_left(plant(tmp_path, MACHINE | files)) == expected


def process(pid: int, name: str, mib: int, group: str = "0::/\n") -> dict[str, str]:
    """A process as the kernel shows it."""
    status = f"Name:\t{name}\nVmRSS:\t{(mib + 9) << 10} kB\nRssAnon:\t  {mib << 10} kB\nRssFile:\t9216 kB\n"
    return {f"proc/{pid}/status": status, f"proc/{pid}/cgroup": group}


HOLDING = {
    "proc/meminfo": f"MemTotal: {32 << 20} kB\nMemAvailable: {1 << 10} kB\nShmem: {3 << 20} kB\n",
    "proc/self/cgroup": "0::/mine\n",
    **process(7, "slotmark-node", 9_000, "0::/mine\n"),
    **process(8, "cc1\x1b[2J", 1_000),
    **process(9, "rustc", 2_000),
    **process(10, "rustc", 2_500),
    **process(11, "my own", 300, "0::/mine\n"),
    "proc/12/status": "Name:\tkworker/0:1\n",
}


def test_what_holds_the_memory_is_named_the_largest_first(tmp_path: Path) -> None:
    plant(tmp_path, HOLDING)
    machine = memory_left(tmp_path)
    mib = 1 << 20
    assert memory_holders(machine, [7], tmp_path) == [
        Holder("rustc (2 processes)", 4_500 * mib),
        Holder(FILES_IN_MEMORY, 3_072 * mib),
        Holder("cc1\N{REPLACEMENT CHARACTER}[2J", 1_000 * mib),
    ]
    assert memory_holders(machine, [], tmp_path)[0] == Holder("slotmark-node", 9_000 * mib)
    # Where a group has too little, what others hold doesn't matter.
    assert memory_holders(Memory(0, GIB), [7], tmp_path) == [Holder("my own", 300 * mib)]


def test_a_group_may_have_any_name(tmp_path: Path) -> None:
    name = os.fsdecode("a\N{LINE SEPARATOR}:".encode() + b"\xff")
    plant(tmp_path, MACHINE | group(f"sys/fs/cgroup/{name}", str(4 * GIB), 3 * GIB, 0))
    (tmp_path / "proc" / "self").mkdir()
    (tmp_path / "proc" / "self" / "cgroup").write_bytes(os.fsencode(f"0::/{name}\n"))
    assert memory_left(tmp_path) == Memory(GIB, 4 * GIB)


def test_memory_is_short_below_a_twentieth_and_a_gibibyte() -> None:
    assert Memory(99, 2_000).is_short
    assert not Memory(100, 2_000).is_short
    assert Memory(GIB - 1, 1_000 * GIB).is_short
    assert not Memory(GIB, 1_000 * GIB).is_short
    here = memory_left()
    assert 0 < here.available_bytes <= here.total_bytes
