"""Logs that are read on nodes of a Ray cluster, while something is taken from them: the log itself, room for tables, or the node."""

import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.conftest import bytes_of, slotmark
from tests.engine import ray_cluster
from tests.engine.ray_cluster import Cluster, waited

pytestmark = pytest.mark.slow

# Workers of node b run this before they read the log that was looked at.
PLANTED = """
from functools import wraps
from pathlib import Path
from time import sleep
from slotmark.benches.cluster.ingesting import log_pieces

usual = log_pieces.accounts


@wraps(usual)
def accounts(*inputs, **how):
    log = Path({log!r})
    {change}
    Path({done!r}).touch()
    return usual(*inputs, **how)


log_pieces.accounts = accounts
"""


# A reading stops in its middle.
STOPS = """
    told = how["progress"]

    def held(done, total):
        if 0 < done < total:
            Path({reading!r}).touch()
            sleep(600)
        return told(done, total)

    how["progress"] = held
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


def words(logs: Path, out: Path) -> list[str | Path]:
    """The words of ``slotmark ingest --engine ray``, each log on its machine."""
    where = [f"{name}:{logs / name}" for name in ray_cluster.MACHINES]
    genesis = logs / "genesis" / "genesis.shelley.json"
    return ["ingest", *where, "--genesis", genesis, "-o", out, "--engine", "ray"]


def ingested(cluster: Cluster, logs: Path, out: Path) -> "subprocess.CompletedProcess[str]":
    """The end of such a command."""
    return cluster.slotmark(*words(logs, out))


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


def stopping(folder: Path) -> tuple[dict[str, str], Path]:
    """The environment of a node whose workers stop while they read a log, and the file that is there then."""
    reading = folder / "reading"
    return planted(folder, folder, STOPS.format(reading=str(reading))), reading


def test_logs_of_a_node_that_is_lost_while_it_reads_them_are_read_when_it_is_back(
    cluster: Cluster, tmp_path: Path
) -> None:
    logs = written(tmp_path, 3000)
    alone = slotmark("ingest", logs, "-o", tmp_path / "alone")
    assert alone.returncode == 0, alone.stderr
    environment, reading = stopping(tmp_path / "plant")
    run, outputs = tmp_path / "run", tmp_path / ".run.ray" / "outputs"
    with begun_with(cluster, environment):
        process = cluster.begin(*words(logs, run))
        waited(lambda: reading.exists() and list(outputs.glob("*accounts-*.files")), process)
        assert cluster.b.kill("raylet/raylet") == 1
        said = process.communicate(timeout=240)[1]
    last = said.rstrip("\n").splitlines()[-1]
    assert (process.returncode, run.exists(), "Traceback" in said) == (2, False, False), said
    assert last.startswith("slotmark: piece 1 of 1 of the logs of b (the piece ")
    assert "given up by Ray: " in last and "What is finished is kept" in last
    again = ingested(cluster, logs, run)
    assert again.returncode == 0, again.stderr
    assert "1 of 2 pieces were finished before." in again.stderr
    assert bytes_of(run / "tables") == bytes_of(tmp_path / "alone" / "tables")


def test_logs_that_a_lost_node_was_reading_are_read_by_another(cluster: Cluster, tmp_path: Path) -> None:
    """Large enough for two pieces, which each of the nodes may do."""
    logs = written(tmp_path, 30_000)
    alone = slotmark("ingest", logs, "-o", tmp_path / "alone")
    assert alone.returncode == 0, alone.stderr
    environment, reading = stopping(tmp_path / "plant")
    run = tmp_path / "run"
    with begun_with(cluster, environment):
        process = cluster.begin("ingest", logs, "-o", run, "--engine", "ray")
        waited(reading.exists, process)
        assert cluster.b.kill("raylet/raylet") == 1
        said = process.communicate(timeout=240)[1]
    assert process.returncode == 0, said
    assert [line for line in said.splitlines() if "(198.18.0.1): 2 pieces, " in line], said
    assert bytes_of(run / "tables") == bytes_of(tmp_path / "alone" / "tables")


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
