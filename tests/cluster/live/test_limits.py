"""`cluster run --memory --cpus`: hosts in groups whose memory, page cache included, and processors are limited."""

import subprocess
import sys
import time
from pathlib import Path

import pytest

from slotmark.compare import compare
from slotmark.errors import PlatformError
from slotmark.measure.limits import Limits, limited
from slotmark.metrics import Analysis
from slotmark.run import open_run
from tests.cluster.live.machine import stand_in_recipe
from tests.conftest import slotmark

HOSTS = 2
OPTIONS = ("--for", "4s", "--network", "loopback", "--no-workload", "--start-in", "2s", "--ready-within", "2min")


@pytest.fixture(scope="module", autouse=True)
def _limits() -> None:
    try:
        limited(Limits(memory_bytes=128 << 20, cpus=0.5), "--memory, --cpus")
    except PlatformError as error:
        pytest.skip(str(error))


def test_processors_and_memory_are_those_of_the_limits(tmp_path: Path) -> None:
    """Work of half a second of processor time takes five under a tenth of a processor; and the group is gone at the end."""
    work = "import time\nwhile time.process_time() < 0.5: pass\nprint(time.monotonic_ns())"
    took = {}
    for cpus in (None, 0.1):
        with limited(Limits(cpus=cpus), "--cpus")() as group:
            began = time.monotonic()
            subprocess.run([*group.words, sys.executable, "-c", work], check=True, stdout=subprocess.DEVNULL)
            took[cpus] = time.monotonic() - began
    assert took[0.1] > 4, took
    with limited(Limits(memory_bytes=64 << 20, cpus=0.9), "--memory")() as group:
        folder = group.memory
        hoard = subprocess.run([*group.words, sys.executable, "-c", "held = bytearray(128 << 20)"], check=False)
        assert folder is not None
        assert group.kills == 1
    assert hoard.returncode == -9
    assert not folder.exists()
    with limited(Limits(memory_bytes=64 << 20), "--memory")() as group:
        assert subprocess.run([*group.words, "true"], check=False).returncode == 0
        assert group.kills == 0


def test_a_runs_limits_are_in_its_manifest_and_compared(bed: Path, tmp_path: Path) -> None:
    recipe = str(stand_in_recipe(tmp_path, HOSTS))
    for name, more in (("free", ()), ("limited", ("--memory", "256MiB", "--cpus", "1.5"))):
        done = slotmark("cluster", "run", bed, "--node", recipe, "-o", tmp_path / name, *OPTIONS, *more)
        assert done.returncode == 0, done.stderr
    free, within = open_run(tmp_path / "free"), open_run(tmp_path / "limited")
    assert "host_nodes" not in free.manifest.tables
    keys = ("memory limit", "processors limit")
    assert [free.manifest.parameters[key] for key in keys] == ["none", "none"]
    assert [within.manifest.parameters[key] for key in keys] == ["268,435,456 bytes", "1.5"]
    rows = within.table("host_nodes").to_pylist()
    assert {(row["memory_bytes"], row["cpus"]) for row in rows} == {(256 << 20, 1.5)}
    texts = [one.text for one in compare([[free], [within]]).sides[1].warnings if one.kind == "different"]
    assert any(
        "Parameter 'memory limit' differs: none for the baseline, 268,435,456 bytes here" in text for text in texts
    )
    # systemd may make a group after the first sample.
    counted = [one for one in within.table("node_usage")["cache_bytes"].to_pylist() if one is not None]
    assert max(counted) > 0
    assert set(free.table("node_usage")["cache_bytes"].to_pylist()) == {None}
    with Analysis(within) as analysis, Analysis(free) as without:
        cache = analysis.samples("cache_mib").table["value"].to_pylist()
        assert max(cache) * 2**20 <= max(counted)
        assert max(cache) > 0
        assert without.samples("cache_mib").table.num_rows == 0
        assert all(one.samples("major_faults").table.num_rows > 5 for one in (analysis, without))


def test_a_host_that_needs_more_is_named_with_its_limit(bed: Path, tmp_path: Path) -> None:
    recipe = stand_in_recipe(tmp_path, HOSTS)
    file = tmp_path / "hosts.toml"
    file.write_text(f'[all]\nnode = "{recipe}"\n[node-1]\narguments = ["--eats"]\nmemory = "128MiB"\ncpus = 0.9\n')
    done = slotmark("cluster", "run", bed, "--hosts", file, "-o", tmp_path / "live", *OPTIONS)
    assert done.returncode == 2, done.stderr
    line = done.stderr.splitlines()[-1]
    assert "node-1 was ended by the kernel at its limit of 128 MiB: " in line
    assert "Give it more memory, by --memory or in hosts.toml." in line


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--memory", "much"), "--memory 'much': expected a number and a unit of size"),
        (("--memory", "1MiB"), "expected 16 MiB at least"),
        (("--memory", "4000GiB"), "no more than"),
        (("--cpus", "0"), "--cpus '0': expected a number of processors from 0.01 on"),
        (("--cpus", "nan"), "--cpus 'nan': expected a number of processors from 0.01 on"),
    ],
)
def test_limits_that_make_no_sense_are_refused(bed: Path, tmp_path: Path, words: tuple[str, str], said: str) -> None:
    done = slotmark("cluster", "run", bed, "-o", tmp_path / "live", *OPTIONS, *words)
    assert done.returncode == 2
    assert said in done.stderr.splitlines()[-1]
    assert list(tmp_path.iterdir()) == []


def test_where_groups_are_read_only_one_line_tells_the_remedy(bed: Path, tmp_path: Path) -> None:
    hide = 'mount -t tmpfs -o ro none /sys/fs/cgroup || exit 77; exec "$@"'
    words = ["cluster", "run", str(bed), "-o", str(tmp_path / "live"), *OPTIONS, "--memory", "256MiB"]
    done = subprocess.run(
        ["unshare", "-rm", "sh", "-c", hide, "sh", sys.executable, "-m", "slotmark", *words],
        capture_output=True,
        text=True,
        check=False,
        timeout=240,
    )
    if done.returncode in (1, 77) and "slotmark" not in done.stderr:
        pytest.skip(f"no file system can be mounted here: {done.stderr.strip()}")
    assert done.returncode == 2, done.stderr
    line = done.stderr.splitlines()[-1]
    assert "--memory, --cpus: node-0: no group of processes with limited memory can be made here (" in line
    assert "Mount the groups so that root may write to them" in line
    assert "Run slotmark as root" not in line
    assert list(tmp_path.iterdir()) == []
