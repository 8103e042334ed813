"""Live clusters whose hosts are on two machines, each of which is a network namespace with a node of a Ray cluster."""

import json
import os
import re
import shutil
import signal
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from slotmark.benches.cluster.bed import read_bed
from slotmark.benches.cluster.live.launching import MARK
from slotmark.benches.cluster.live.sites.remote import Remote
from slotmark.compare import compare
from slotmark.metrics import Analysis
from slotmark.run import Run, check_run, open_run
from tests.cluster.live.machine import skip_without_programs, skip_without_router, stand_in_recipe
from tests.conftest import slotmark
from tests.engine import ray_cluster
from tests.engine.ray_cluster import Cluster, hosts_file, waited

HOSTS = 4
BESIDE_S = 3
KEEPER = "ray::Keeper"
"""The name by which Ray calls the process of the actor that keeps a machine's part."""

LOGGED = ("block_events", "slot_events", "ledger_metrics", "resources", "transactions", "hosts", "trace_frequencies")


@pytest.fixture(scope="module")
def cluster() -> Iterator[Cluster]:
    with ray_cluster.both() as made:
        yield made


def test_a_part_that_is_stopped_before_it_began_is_removed(tmp_path: Path) -> None:
    """As by a signal while its files are sent."""
    part = Remote()
    made = Path(part.make(str(tmp_path / "work" / "live")))
    part.write("genesis/shelley-genesis.json", b"{}", 0o600)
    part.remove()
    assert not made.exists()


def options(hosts: Path, out: Path, *more: str) -> list[str]:
    words = ["--engine", "ray", "--hosts", str(hosts), "-o", str(out), "--ready-within", "2min", "--grace", "10s"]
    return [*words, "--beside", f"{BESIDE_S}s", *more]


def test_a_cluster_on_two_machines_is_the_run_of_all_its_logs(cluster: Cluster, bed: Path, tmp_path: Path) -> None:
    """Our own nodes under load; each machine reads its logs, and the tables are the bytes of one that has all of them."""
    skip_without_programs()
    skip_without_router()
    out = tmp_path / "live"
    done = cluster.slotmark(
        "cluster", "run", bed, "--node", "slotmark", "--for", "12s", *options(hosts_file(tmp_path, HOSTS), out)
    )
    assert done.returncode == 0, done.stderr
    check_run(out)
    run = open_run(out)
    assert run.manifest.parameters["network"] == "wan within machines"
    assert run.manifest.observed["router, packets"] > 100
    assert run.manifest.observed["router, lost by itself"] == 0
    latencies = latencies_of(bed)
    plans = [json.loads(plan.read_text()) for plan in sorted((tmp_path / "work").glob("*/wan.json"))]
    assert [[host["name"] for host in plan["hosts"]] for plan in plans] == [
        ["node-0", "node-2", "generator"],
        ["node-1", "node-3"],
    ]
    for plan in plans:
        near = {host["name"] for host in plan["hosts"]}
        held = {(one["from"], one["to"]): one["link"]["delay_us"] for one in plan["links"]}
        for (sender, receiver), latency_ns in latencies.items():
            if sender in near:
                assert held[sender, receiver] == (latency_ns // 1000 if receiver in near else 0)
    # By the links between machines nothing is held: a message takes less than the bed's 45 ms and more.
    least = {(row["sender"], row["receiver"]): row["least_ns"] for row in run.table("least_differences").to_pylist()}
    assert least["node-0", "node-1"] < latencies["node-0", "node-1"]
    assert all(least[pair] >= latency for pair, latency in latencies.items() if pair in least and is_near(*pair))
    kinds = {warning.kind for warning in run.manifest.warnings}
    assert not kinds & {
        "machine_lost",
        "missing_hosts",
        "machine_clocks_apart",
        "machine_clocks_unknown",
        "clocks_disagree",
    }
    assert not kinds & {"no_workload", "workload_broke", "node_died", "node_killed", "cut_short"}
    assert run.table("submissions").num_rows > 50
    machines = {row["machine"]: row["hosts"] for row in run.table("machines").to_pylist()}
    assert sorted(machines.values()) == ["node-0,node-2", "node-1,node-3"]
    assert {row["host"] for row in run.table("node_usage").to_pylist()} == {f"node-{number}" for number in range(HOSTS)}
    assert {row["machine"] for row in run.table("machine_usage").to_pylist()} == set(machines)
    for beside in run.table("beside").to_pylist():
        assert beside["processes"] >= 5  # a raylet, two agents, the actor, its process
        assert beside["memory_bytes"] > 100 << 20
        assert beside["packets"] > 0
        assert beside["measured_ns"] >= BESIDE_S * 10**9
    assert run.manifest.observed["beside the nodes, MiB"] > 100
    assert run.manifest.observed["beside the nodes, measured for, s"] == pytest.approx(
        min(run.table("beside")["measured_ns"].to_pylist()) / 1e9, abs=0.05
    )
    clocks = run.table("machine_clocks").to_pylist()
    assert len(clocks) >= 2  # at the beginning and at the end
    assert all(abs(row["ahead_ns"]) <= row["doubt_ns"] + 1_000 < 5_000_000 for row in clocks)  # it is one clock
    parts = sorted((tmp_path / "work").iterdir())
    assert [sorted(one.name for one in part.glob("node-*")) for part in parts] == [
        ["node-0", "node-2"],
        ["node-1", "node-3"],
    ]
    # Each machine has the keys of its own hosts, and no others'.
    assert {key.parent.name for key in parts[1].glob("genesis/pools-keys/*/*")} == {"pool2", "pool4"}
    assert not list(parts[1].glob("genesis/utxo-keys/*"))
    together = tmp_path / "together"
    shutil.copytree(tmp_path / "live.logs", together)
    for log in (tmp_path / "work").glob("*/node-*/stdout"):
        shutil.copy(log, together / log.parent.name)
    ingested = slotmark("ingest", together, "-o", tmp_path / "alone")
    assert ingested.returncode == 0, ingested.stderr
    for name in LOGGED:
        here, there = (
            sorted((folder / "tables").glob(f"{name}*/*.parquet")) or [folder / "tables" / f"{name}.parquet"]
            for folder in (out, tmp_path / "alone")
        )
        assert [one.name for one in here] == [one.name for one in there], name
        assert [one.read_bytes() for one in here] == [one.read_bytes() for one in there], name
    shown = slotmark("show", out)
    assert shown.returncode == 0, shown.stderr
    assert "beside the nodes" in shown.stdout
    assert not left(cluster)


def latencies_of(bed: Path) -> dict[tuple[str, str], int]:
    """The latencies of the bed's links, both ways, in ns."""
    known = read_bed(bed)
    names = [host.name for host in known.hosts]
    return {
        (names[one], names[other]): link.latency_ns
        for link in known.links
        for one, other in ((link.producer, link.follower), (link.follower, link.producer))
    }


def is_near(one: str, other: str) -> bool:
    """Returns whether two hosts are on one machine."""
    return int(one[-1]) % 2 == int(other[-1]) % 2


def left(cluster: Cluster) -> list[str]:
    """Processes that a live cluster has started and that still run on the machines."""
    parts = ("slotmark-node", "stand_in.py", "measure.supervised", "slotmark-wakes", "sleep 9731")
    return [
        line
        for one in (cluster.a, cluster.b)
        for line in one.processes().values()
        if any(part in line for part in parts)
    ]


def begin(cluster: Cluster, bed: Path, tmp_path: Path, node: str, *more: str) -> "subprocess.Popen[str]":
    return cluster.begin(
        "cluster",
        "run",
        bed,
        "--node",
        node,
        "--for",
        "3min",
        "--no-workload",
        "--network",
        "loopback",  # hosts have the network of their machine, by which processes are found
        "--start-in",
        "3s",
        *options(hosts_file(tmp_path, HOSTS), tmp_path / "live", *more),
    )


def stand_in(tmp_path: Path) -> str:
    """A node that leaves a process in a session of its own."""
    folder = stand_in_recipe(tmp_path, HOSTS)
    recipe = folder / "node.toml"
    script = folder / "start.sh"
    script.write_text('#!/bin/sh\nsetsid sleep 9731 &\nexec "$@"\n')
    script.chmod(0o755)
    recipe.write_text(recipe.read_text().replace("command = [", f"command = [{json.dumps(str(script))}, "))
    return str(folder)


def measured_for(tmp_path: Path, samples: int) -> bool:
    """Returns whether nodes have been watched for some looks."""
    logs = list((tmp_path / "work").glob("*/node-*/stdout"))
    return len(logs) == HOSTS and all(
        log.read_bytes().count(b"Forge.Loop.StartLeadershipCheck") > samples for log in logs
    )


def wakes(pid: int) -> int:
    """Number of times that the main thread of a process has waited for something."""
    (found,) = re.findall(r"^voluntary_ctxt_switches:\s+(\d+)", Path(f"/proc/{pid}/status").read_text(), re.MULTILINE)
    return int(found)


def test_a_machine_whose_worker_is_killed_leaves_nothing_and_the_run_goes_on(
    cluster: Cluster, bed: Path, tmp_path: Path
) -> None:
    process = begin(cluster, bed, tmp_path, stand_in(tmp_path), "--on-loss", "go-on")
    waited(lambda: measured_for(tmp_path, 6), process)
    assert len([line for line in left(cluster) if "sleep 9731" in line]) == HOSTS
    waited(lambda: not cluster.b.named("ray::IDLE"), process)  # no worker that waits for work
    (keeper,) = cluster.b.named(KEEPER)
    before = wakes(keeper)
    time.sleep(3)
    assert wakes(keeper) - before < 100  # an actor that waits for calls wakes 100 times a second
    os.kill(keeper, signal.SIGKILL)
    waited(lambda: not [line for line in cluster.b.processes().values() if "sleep 9731" in line or "stand_in" in line])
    time.sleep(3)
    assert process.poll() is None  # it goes on
    process.send_signal(signal.SIGINT)
    printed, said = process.communicate(timeout=120)
    assert process.returncode == 130, said
    assert "was lost, and with it node-1 and node-3" in said
    assert "Traceback" not in said
    run = open_run(tmp_path / "live")
    found = {warning.kind: warning for warning in run.manifest.warnings}
    assert re.search(r"which was noticed in slot \d+, and with it node-1, node-3:", found["machine_lost"].text)
    assert "node-1" in found["missing_hosts"].text
    names_blocks_of_lost_hosts(run)
    assert "cut_short" in found  # by the signal
    assert "node_killed" not in found
    assert {row["host"] for row in run.table("hosts").to_pylist()} == {"node-0", "node-2"}
    assert [row["is_lost"] for row in run.table("machines").to_pylist()] == [False, True]
    assert not left(cluster)
    assert printed.strip() == str(tmp_path / "live")


def names_blocks_of_lost_hosts(run: Run) -> None:
    """Holds the blocks that a report names against the chain of the stand-ins, which forge a block in each second slot, in turn."""
    with Analysis(run) as analysis:
        rows = analysis.query("SELECT * FROM blocks_without_hosts ORDER BY slot").to_pylist()
        warned = {one.kind: one.text for one in analysis.warnings()}
    assert {(row["lacking"], row["without"]) for row in rows} == {(2, "node-1, node-3")}
    lost = [row["slot"] for row in rows if row["forger"] is None]
    assert lost
    assert lost == [row["slot"] for row in rows if row["slot"] // 2 % HOSTS in {1, 3}]
    assert f"block {lost[0] // 2} (slot {lost[0]})" in warned["blocks_of_missing_hosts"]
    assert f"than the cluster's {HOSTS} hosts:" in warned["blocks_without_hosts"]
    assert "without 2 (node-1, node-3)" in warned["blocks_without_hosts"]
    printed = slotmark("show", run.path).stdout
    assert f"block {lost[0] // 2} (slot {lost[0]})" in " ".join(printed.split())


@pytest.mark.slow
@pytest.mark.parametrize("on_loss", ["stop", "go-on"])
def test_a_machine_whose_raylet_is_killed_is_told(cluster: Cluster, bed: Path, tmp_path: Path, on_loss: str) -> None:
    process = begin(cluster, bed, tmp_path, stand_in(tmp_path), "--on-loss", on_loss)
    waited(lambda: measured_for(tmp_path, 6), process)
    assert cluster.b.kill("raylet/raylet") == 1
    try:
        if on_loss == "go-on":
            waited(lambda: not [line for line in cluster.b.processes().values() if "stand_in" in line], process)
            time.sleep(20)
            process.send_signal(signal.SIGINT)
        said = process.communicate(timeout=180)[1]
        assert process.returncode == (2 if on_loss == "stop" else 130), said
        assert "was lost, and with it node-1 and node-3" in said
        assert "Traceback" not in said
        run = open_run(tmp_path / "live")
        assert {"machine_lost", "missing_hosts", "cut_short"} <= {warning.kind for warning in run.manifest.warnings}
        names_blocks_of_lost_hosts(run)
        waited(lambda: not left(cluster))
    finally:
        cluster.b.end_processes()
        cluster.start(cluster.b)


@pytest.mark.slow
def test_a_command_that_is_killed_leaves_nothing(cluster: Cluster, bed: Path, tmp_path: Path) -> None:
    process = begin(cluster, bed, tmp_path, stand_in(tmp_path))
    waited(lambda: measured_for(tmp_path, 2), process)
    process.kill()
    process.communicate()
    waited(lambda: not left(cluster))
    assert not (tmp_path / "live").exists()


def session(cluster: Cluster, bed: Path, tmp_path: Path, *more: str) -> "subprocess.Popen[str]":
    """A session of two nodes, which are the same."""
    node = str(tmp_path / "stand-in")
    nodes = ["--node", f"old={node}", "--node", f"new={node}", "--rounds", "2", "--for", "5s", "--no-workload"]
    nodes += ["--network", "loopback"]
    words = options(tmp_path / "hosts.toml", tmp_path / "runs", "--start-in", "3s", *more)
    return cluster.begin("cluster", "run", bed, *nodes, *words)


def test_nodes_are_mixed_over_the_hosts_of_two_machines_and_swapped(
    cluster: Cluster, bed: Path, tmp_path: Path
) -> None:
    stand_in_recipe(tmp_path, HOSTS)
    hosts_file(tmp_path, HOSTS)
    process = session(cluster, bed, tmp_path, "--mixed")
    printed, said = process.communicate(timeout=400)
    assert process.returncode == 0, said
    runs = [open_run(place) for place in printed.split()]
    assert [run.path for run in runs] == [tmp_path / "runs" / "mixed-1", tmp_path / "runs" / "mixed-2"]
    first, second = ({row["host"]: row["name"] for row in run.table("host_nodes").to_pylist()} for run in runs)
    assert sorted(first.values()) == ["new", "new", "old", "old"]
    assert all(second[host] != name for host, name in first.items())
    assert {len(run.table("machines")) for run in runs} == {2}
    for run in runs:
        assert run.manifest.parameters["network"] == "machines"
        (unlike,) = (one.text for one in run.manifest.warnings if one.kind == "no_latencies_within")
        assert "node-0 and node-2, node-1 and node-3." in unlike
    assert len({run.manifest.session for run in runs}) == 1
    assert said.count("Ray cluster 198.18.0.1:6379") == 1  # what it has is printed once for all runs
    assert all(f"{run.path.name}: logs in " in said for run in runs)
    found = compare([runs])
    assert [side.name for side in found.sides] == ["old", "new"]
    assert not left(cluster)


@pytest.mark.slow
def test_a_session_in_turns_on_two_machines_that_was_cut_goes_on(cluster: Cluster, bed: Path, tmp_path: Path) -> None:
    stand_in_recipe(tmp_path, HOSTS)
    hosts = hosts_file(tmp_path, HOSTS)
    out = tmp_path / "runs"
    process = session(cluster, bed, tmp_path)
    waited(lambda: len(list(out.glob("*-1/run.json"))) == 2 and list(out.glob("*-2.logs")), process)
    process.send_signal(signal.SIGINT)
    said = process.communicate(timeout=120)[1]
    assert process.returncode == 130, said
    assert "1 of 2 rounds are finished and kept: the same command with --resume continues" in said
    waited(lambda: not left(cluster))
    text = hosts.read_text()
    hosts.write_text(text.replace('"b"', '"a"'))
    said = (other := session(cluster, bed, tmp_path, "--resume")).communicate(timeout=240)[1]
    assert other.returncode == 2
    assert "not the session that was cut: the network between hosts was machines, is loopback" in said
    assert "the file of hosts" in said
    hosts.write_text(text)
    resumed = session(cluster, bed, tmp_path, "--resume")
    printed, said = resumed.communicate(timeout=400)
    assert resumed.returncode == 0, said
    runs = {path.name: open_run(path) for path in map(Path, printed.split())}
    assert sorted(runs) == ["new-1", "new-2", "old-1", "old-2"]
    assert len({run.manifest.session for run in runs.values()}) == 1
    found = compare([[runs["old-1"], runs["old-2"]], [runs["new-1"], runs["new-2"]]])
    assert {one.basis.over for row in found.rows for one in row.differences if one and one.basis} == {"paired rounds"}
    assert not left(cluster)


def cleaned_of_planted(cluster: Cluster, hosts: Path, tries: int) -> "subprocess.CompletedProcess[str]":
    """Returns how cleaning went where a process was left; again where a live cluster of another test, which began meanwhile, ended that first."""
    planted = subprocess.Popen(
        cluster.b.words("sleep", "9731"), env={**os.environ, MARK: "4194304:1"}, start_new_session=True
    )
    waited(lambda: left(cluster) or planted.poll() is not None)
    cleaned = cluster.slotmark("cluster", "clean", "--hosts", hosts)
    assert cleaned.returncode == 0, cleaned.stderr
    assert planted.wait(10) == -signal.SIGKILL
    if tries == 1 or "processes ended" in cleaned.stderr:
        return cleaned
    return cleaned_of_planted(cluster, hosts, tries - 1)


def test_what_was_left_on_machines_is_found_and_hosts_that_are_none_are_refused(
    cluster: Cluster, bed: Path, tmp_path: Path
) -> None:
    """One process that no live cluster can reach any more is planted, and a run directory."""
    hosts = hosts_file(tmp_path, HOSTS)
    kept = tmp_path / "work" / "run-0"
    kept.mkdir(parents=True)
    shutil.copy(bed / "bed.json", kept)
    cleaned = cleaned_of_planted(cluster, hosts, 20)
    assert cleaned.stderr.count("processes ended: 1") == 1
    assert cleaned.stderr.count("no process was left") == 1
    assert len(re.findall(rf"^\S+ \(198\.18\.0\.[12]\): {kept}$", cleaned.stdout, re.MULTILINE)) == 2
    hosts.write_text(hosts.read_text().replace('"b"', '"c"'))
    refused = cluster.slotmark("cluster", "run", bed, "--for", "10s", *options(hosts, tmp_path / "live"))
    assert refused.returncode == 2
    last = refused.stderr.splitlines()[-1]
    assert last.startswith("slotmark: node-1: host=c: 0 nodes of the cluster have that, 1 expected.")
    assert not (tmp_path / "live.logs").exists()


@pytest.mark.parametrize(
    ("text", "more", "said"),
    [
        ("[node-0]\nmemory = '1GiB'", (), "node-0: no labels, so it isn't known which machine it is"),
        ("[node-9]\nlabels = {host = 'a'}", (), "the bed has no host 'node-9'"),
        ("[all]\nlabels = {host = 'a'}\n[node-0]\nlabel = 'a'", (), "unknown field"),
        ("[all]\nlabels = {host = 'a'}", ("--rounds", "2"), "--rounds: expected two --node or more"),
    ],
)
def test_files_of_hosts_that_say_too_little_or_too_much_are_refused(
    bed: Path, tmp_path: Path, text: str, more: tuple[str, ...], said: str
) -> None:
    pytest.importorskip("ray")
    hosts = tmp_path / "hosts.toml"
    hosts.write_text(text)
    refused = slotmark("cluster", "run", bed, "--for", "10s", *options(hosts, tmp_path / "live", *more))
    assert refused.returncode == 2
    assert said in refused.stderr
    assert "Traceback" not in refused.stderr
    assert [one.name for one in tmp_path.iterdir()] == ["hosts.toml"]
