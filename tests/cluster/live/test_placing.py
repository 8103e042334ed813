"""The node of each host: `hosts.toml` in a bed, and two nodes mixed in one cluster, over real processes."""

import json
import os
import shutil
from pathlib import Path

import pytest

from slotmark.benches.cluster.bed import read_bed
from slotmark.benches.cluster.live.placing import halves
from slotmark.benches.cluster.live.request import Named, named_nodes
from slotmark.compare import compare
from slotmark.errors import ArgumentError
from slotmark.metrics import Analysis
from slotmark.run import open_run
from tests.cluster.live.machine import stand_in_recipe
from tests.cluster.live.test_nodes import shipped
from tests.conftest import slotmark

HOSTS = 2
OPTIONS = ("--for", "4s", "--network", "loopback", "--no-workload", "--start-in", "2s", "--ready-within", "2min")
SEVERAL_BLOCKS = ("--for", "10s")
"""Time of several blocks: in 4 s one is measured, and none where a busy machine leaves a stand-in waiting for a second."""


@pytest.fixture
def bed(bed: Path, tmp_path: Path) -> Path:
    """A bed of its own for each test."""
    return Path(shutil.copytree(bed, tmp_path / "bed"))


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
    done = slotmark("cluster", "run", bed, *nodes, "--mixed", "--rounds", "2", "-o", out, *OPTIONS, *SEVERAL_BLOCKS)
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


def test_the_words_of_a_node_have_its_name_and_its_part(tmp_path: Path) -> None:
    node = str(stand_in_recipe(tmp_path, 1))
    given = [node, f"old={node}=relay", f"new={node} --delay 3", f"last={node} --part=relay", f"home={node}=edge"]
    assert named_nodes("--node", given) == {
        "stand-in": Named(node),
        "old": Named(node, "relay"),
        "new": Named(f"{node} --delay 3"),
        "last": Named(f"{node} --part=relay"),
        "home": Named(node, "edge"),
    }
    assert named_nodes("--node", [f"{node} 3=relay"]) == {"stand-in": Named(f"{node} 3", "relay")}
    for role in ("relay", "edge"):
        with pytest.raises(ArgumentError, match=f"two nodes with ={role}"):
            named_nodes("--node", [f"a={node}={role}", f"b={node}={role}"])


def test_a_node_for_hosts_without_a_pool(tmp_path: Path) -> None:
    """It logs as Dugite does, and runs on these alone: on all of them, or on half of them in each round, while the others stay."""
    node = str(stand_in_recipe(tmp_path, 1))
    follower = tmp_path / "follower"
    shutil.copytree(tmp_path / "stand-in", follower)
    file = follower / "node.toml"
    recipe = (
        file.read_text()
        .replace('"--hosts"', '"--dugite", "--hosts"')
        .replace("ready =", 'roles = ["relay"]\nready =', 1)
    )
    tip = shipped("dugite").recipe.tip
    file.write_text("\n".join(f"tip = '{tip}'" if "tip =" in line else line for line in recipe.splitlines()))
    for name, pools in (("bed", 1), ("producers", 3)):
        size = ("--hosts", "3", "--set", f"pools={pools}")
        made = slotmark("cluster", "create", "value-only-5", *size, "-o", tmp_path / name)
        assert made.returncode == 0, made.stderr
    bed, out = tmp_path / "bed", tmp_path / "runs"
    for given, said in (
        (("--node", str(follower)), "node-0 has a pool, and follower can only be relay (roles in its node.toml)"),
        (("--node", f"{node}=relay", "--node", f"{follower}=relay"), "two nodes with =relay"),
    ):
        done = slotmark("cluster", "run", bed, *given, "-o", out, *OPTIONS)
        assert done.returncode == 2
        assert said in done.stderr.splitlines()[-1]
    nodes = ("--node", node, "--node", f"{follower}=relay")
    none = slotmark("cluster", "run", tmp_path / "producers", *nodes, "-o", out, *OPTIONS)
    assert none.returncode == 2
    assert "and none is a relay. Make a bed with some: `cluster create … --set pools=1`" in none.stderr.splitlines()[-1]
    assert not out.exists()
    one = slotmark("cluster", "run", bed, *nodes, "-o", out / "one", *OPTIONS, *SEVERAL_BLOCKS)
    assert one.returncode == 0, one.stderr
    ran = [(row["name"], row["stays"]) for row in open_run(out / "one").table("host_nodes").to_pylist()]
    assert ran == [("stand-in", False), ("follower", False), ("follower", False)]
    run = open_run(out / "one")
    assert [row["node"] for row in run.table("hosts").to_pylist()] == ["cardano-node", "dugite", "dugite"]
    assert {(row["host"], row["peer"]) for row in run.table("connections").to_pylist()} == {
        ("node-1", "node-0"),
        ("node-2", "node-0"),
    }
    with Analysis(run) as analysis:
        assert {host for _, host in analysis.samples("host_adopted").of("")} >= {"node-1", "node-2"}
    mixed = slotmark("cluster", "run", bed, *nodes, "--mixed", "--rounds", "2", "-o", out, *OPTIONS)
    assert mixed.returncode == 0, mixed.stderr
    rounds = [open_run(path).table("host_nodes").to_pylist() for path in mixed.stdout.splitlines()]
    assert [[row["stays"] for row in rows] for rows in rounds] == [[True, False, False]] * 2
    assert [rows[0]["name"] for rows in rounds] == ["stand-in"] * 2
    assert [{row["name"] for row in rows[1:]} for rows in rounds] == [{"stand-in", "follower"}] * 2
    assert rounds[0][1]["name"] == rounds[1][2]["name"] != rounds[0][2]["name"]


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
