"""Logs that are read on nodes of a Ray cluster, while something is taken from them: the log itself, or room for tables."""

import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.conftest import bytes_of, slotmark
from tests.engine import ray_cluster
from tests.engine.ray_cluster import Cluster

pytestmark = pytest.mark.slow

# Workers of node b run this before they read the log that was looked at.
PLANTED = """
from functools import wraps
from pathlib import Path
from slotmark.benches.cluster import log_pieces

usual = log_pieces.accounts


@wraps(usual)
def accounts(*inputs, **how):
    log = Path({log!r})
    {change}
    Path({done!r}).touch()
    return usual(*inputs, **how)


log_pieces.accounts = accounts
"""


@pytest.fixture(scope="module")
def cluster() -> Iterator[Cluster]:
    with ray_cluster.both() as made:
        yield made


@contextmanager
def begun_with(cluster: Cluster, env: dict[str, str]) -> Iterator[None]:
    """Node b, started again with more in its environment; as it was afterwards."""
    cluster.b.end_processes()
    cluster.start(cluster.b, env=env)
    try:
        yield
    finally:
        cluster.b.end_processes()
        cluster.start(cluster.b)


def written(folder: Path, slots: int = 40) -> Path:
    """Simulated logs of two hosts, which are the machines."""
    settings = [f"--set={one}" for one in ("network.hosts=2", "network.pools=2", "epoch_slots=300")]
    logs = folder / "logs"
    made = slotmark("simulate", "value-only-5", "--slots", str(slots), *settings, "-o", logs)
    assert made.returncode == 0, made.stderr
    for place, name in enumerate(ray_cluster.MACHINES):
        (logs / f"node-{place}").rename(logs / name)
    return logs


def ingested(cluster: Cluster, logs: Path, out: Path) -> "subprocess.CompletedProcess[str]":
    """The end of ``slotmark ingest --engine ray``, each log on its machine."""
    where = [f"{name}:{logs / name}" for name in ray_cluster.MACHINES]
    genesis = logs / "genesis" / "genesis.shelley.json"
    return cluster.slotmark("ingest", *where, "--genesis", genesis, "-o", out, "--engine", "ray")


def planted(folder: Path, log: Path, change: str) -> dict[str, str]:
    """The environment of a node whose workers change a log before they read it."""
    folder.mkdir()
    text = PLANTED.format(log=str(log), change=change, done=str(folder / "done"))
    (folder / "sitecustomize.py").write_text(text, encoding="utf-8")
    return {"PYTHONPATH": ":".join(map(str, (folder, ray_cluster.REPO, ray_cluster.REPO / "python")))}


def test_of_a_log_that_grows_while_it_is_read_what_was_there_is_read(cluster: Cluster, tmp_path: Path) -> None:
    logs = written(tmp_path)
    log = logs / "b" / "stdout"
    assert ingested(cluster, logs, tmp_path / "before").returncode == 0
    before = log.stat().st_size
    plant = tmp_path / "plant"
    with begun_with(cluster, planted(plant, log, "log.open('ab').write(log.read_bytes())")):
        done = ingested(cluster, logs, tmp_path / "run")
    assert (plant / "done").exists()
    assert log.stat().st_size > before
    assert done.returncode == 0, done.stderr
    assert bytes_of(tmp_path / "run" / "tables") == bytes_of(tmp_path / "before" / "tables")


@pytest.mark.parametrize("change", ["log.unlink()", "log.write_bytes(log.read_bytes()[:-900])"])
def test_a_log_that_goes_or_is_cut_while_it_is_read_is_named(cluster: Cluster, tmp_path: Path, change: str) -> None:
    logs = written(tmp_path)
    log = logs / "b" / "stdout"
    plant = tmp_path / "plant"
    with begun_with(cluster, planted(plant, log, change)):
        done = ingested(cluster, logs, tmp_path / "run")
    assert (plant / "done").exists()
    assert done.returncode == 2, done.stderr
    last = done.stderr.rstrip("\n").splitlines()[-1]
    assert last.startswith("slotmark: ")
    assert f"{log}" in last
    assert "Traceback" not in done.stderr
    assert not (tmp_path / "run").exists()


def test_a_full_disk_of_a_node_is_told_with_the_node(cluster: Cluster, tmp_path: Path) -> None:
    small = Path(tempfile.mkdtemp(prefix="sr-small-", dir="/tmp"))
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=96k", "small", small], capture_output=True, check=False
    )
    if mounted.returncode:
        shutil.rmtree(small)
        pytest.skip("a small disk can't be mounted here: it takes root")
    try:
        with begun_with(cluster, {"TMPDIR": str(small)}):
            few = ingested(cluster, written(tmp_path / "few"), tmp_path / "few-run")
            assert few.returncode == 0, few.stderr  # room enough: the control
            done = ingested(cluster, written(tmp_path / "many", 3000), tmp_path / "run")
        assert done.returncode == 2, done.stderr
        last = done.stderr.rstrip("\n").splitlines()[-1]
        assert last.startswith("slotmark: ")
        assert "of the logs of b: " in last and "No space left" in last and "make room" in last
        assert "Traceback" not in done.stderr
        assert not (tmp_path / "run").exists()
        assert not list(small.glob("slotmark-*"))
    finally:
        subprocess.run(["umount", small], check=True)
        shutil.rmtree(small)
