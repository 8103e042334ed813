"""The node of each host: `hosts.toml` in a bed, and two nodes mixed in one cluster, over real processes."""

import json
import os
import shutil
from pathlib import Path

import pytest

from slotmark.benches.cluster.bed import read_bed
from slotmark.benches.cluster.live.placing import halves
from slotmark.compare import compare
from slotmark.run import open_run
from tests.cluster.live.machine import stand_in_recipe
from tests.conftest import slotmark

HOSTS = 2
OPTIONS = ("--for", "4s", "--network", "loopback", "--no-workload", "--start-in", "2s", "--ready-within", "2min")


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("bed") / "bed"
    done = slotmark("cluster", "create", "value-only-5", "--hosts", str(HOSTS), "-o", folder)
    assert done.returncode == 0, done.stderr
    return folder


@pytest.fixture
def bed(made: Path, tmp_path: Path) -> Path:
    """A bed of its own for each test."""
    return Path(shutil.copytree(made, tmp_path / "bed"))


def test_hosts_run_what_the_bed_names_within_their_limits(bed: Path, tmp_path: Path) -> None:
    recipe = stand_in_recipe(tmp_path, HOSTS)
    file = recipe / "node.toml"
    file.write_text(file.read_text() + '\n[backends]\nlsm = { LedgerDB = { Backend = "V2LSM" } }\n')
    first = min(os.sched_getaffinity(0))
    (bed / "hosts.toml").write_text(
        f"""
        all = {{ node = "{recipe}", memory = "900MiB" }}
        [node-1]
        arguments = ["--stays", "7"]
        backend = "lsm"
        processors = [{first}]
        """
    )
    done = slotmark("cluster", "run", bed, "-o", tmp_path / "live", *OPTIONS)
    assert done.returncode == 0, done.stderr
    run = open_run(tmp_path / "live")
    rows = run.table("host_nodes").to_pylist()
    assert [row["host"] for row in rows] == ["node-0", "node-1"]
    assert [row["node"] for row in rows] == [str(recipe), f"{recipe} --stays 7"]
    assert [row["backend"] for row in rows] == [None, "lsm"]
    assert {row["memory_bytes"] for row in rows} == {900 << 20}
    assert [row["processors"] for row in rows] == [None, str(first)]
    configs = [
        json.loads((tmp_path / "live.logs" / f"node-{host}" / "config.json").read_bytes()) for host in range(HOSTS)
    ]
    assert "LedgerDB" not in configs[0]
    assert configs[1]["LedgerDB"] == {"Backend": "V2LSM"}
    assert configs[0].keys() == configs[1].keys() - {"LedgerDB"}
    other = slotmark("cluster", "run", bed, "--node", str(recipe), "-o", tmp_path / "other", *OPTIONS)
    assert other.returncode == 2
    assert "node-0 has a node, and --node names one too" in other.stderr


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[node-7]\nmemory = '1GiB'", "the bed has no host 'node-7'"),
        ("[node-1]\nmemroy = '1GiB'", "unknown field"),
        ("[node-1]\nmemory = '4000GiB'", "expected 16 MiB at least, and no more than"),
        ("[node-1]\ncpus = 0.001", "node-1: cpus 0.001: expected 0.01 at least"),
        ("[node-1]\nmemory = 'much'", "expected a number and a unit of size"),
        ("[node-1]\nprocessors = [4095]", "this machine has no processor 4095"),
        ("[node-1]\nbackend = 'lsm'", "slotmark has no backend 'lsm': its node.toml has none"),
        ("[node-1]\nnode = 'nonesuch'", "no node and no program of this name"),
        ("[node-1", "hosts.toml"),
    ],
)
def test_what_a_machine_or_a_node_cannot_do_is_refused_in_a_line(
    bed: Path, tmp_path: Path, text: str, said: str
) -> None:
    (bed / "hosts.toml").write_text(text)
    done = slotmark("cluster", "run", bed, "-o", tmp_path / "live", *OPTIONS)
    assert done.returncode == 2
    assert said in done.stderr.splitlines()[-1]
    assert "Traceback" not in done.stderr
    assert sorted(path.name for path in tmp_path.iterdir()) == ["bed"]


def test_two_nodes_share_a_cluster_and_swap_their_hosts(bed: Path, tmp_path: Path) -> None:
    node, out = str(stand_in_recipe(tmp_path, HOSTS)), tmp_path / "runs"
    nodes = ("--node", f"old={node}", "--node", f"new={node} --stays 7")
    odd = slotmark("cluster", "run", bed, *nodes, "--mixed", "--rounds", "3", "-o", out, *OPTIONS)
    assert odd.returncode == 2
    assert "Give an even number" in odd.stderr
    done = slotmark("cluster", "run", bed, *nodes, "--mixed", "--rounds", "2", "-o", out, *OPTIONS)
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines() == [str(out / "mixed-1"), str(out / "mixed-2")]
    runs = [open_run(path) for path in done.stdout.splitlines()]
    ran = [{row["host"]: (row["name"], row["node"]) for row in run.table("host_nodes").to_pylist()} for run in runs]
    assert all(ran[0][host] == ran[1][other] for host, other in (("node-0", "node-1"), ("node-1", "node-0")))
    assert {one[0] for one in ran[0].values()} == {"old", "new"}
    assert [run.manifest.mixed for run in runs] == [["old", "new"]] * 2
    comparison = compare([runs])
    assert [side.manifest.target.name for side in comparison.sides] == ["old", "new"]
    assert "mixed_cluster" in {one.kind for one in comparison.warnings}
    assert "host_adopted" in {row.metric.id for row in comparison.rows}
    printed = slotmark("compare", ",".join(str(run.path) for run in runs), "-o", tmp_path / "report")
    assert printed.returncode == 0, printed.stderr
    assert "Adoption by a host" in (tmp_path / "report" / "report.md").read_text()


def test_makes_that_cannot_follow_each_other_are_named(bed: Path, tmp_path: Path) -> None:
    node = str(stand_in_recipe(tmp_path, HOSTS))
    other = tmp_path / "other"
    shutil.copytree(tmp_path / "stand-in", other)
    ran = halves(read_bed(bed).hosts, ("old", "new"), 1, 1)
    alone = next(host for host, name in ran.items() if name == "new").removeprefix("node-")
    nodes = ("--node", f"old={node}", "--node", f"new={other} --alone {alone}")
    more = ("--mixed", "--rounds", "2", "--ready-within", "20s")
    done = slotmark("cluster", "run", bed, *nodes, "-o", tmp_path / "runs", *OPTIONS, *more)
    assert done.returncode == 2
    assert "in a cluster of other and stand-in, which may not be able to form one" in done.stderr.splitlines()[-1]
