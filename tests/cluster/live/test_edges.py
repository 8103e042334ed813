"""Edge hosts, which no other host follows: the nodes that they run, over real processes."""

import shutil
from pathlib import Path

import pytest

from slotmark.benches.cluster.bed import read_bed
from slotmark.run import open_run
from tests.cluster.live.machine import skip_without_programs, stand_in_recipe
from tests.conftest import slotmark

HOSTS = 4
OPTIONS = ("--for", "4s", "--network", "loopback", "--no-workload", "--start-in", "2s", "--ready-within", "2min")


@pytest.fixture(scope="module")
def bed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A host with a pool, a relay, and two edge hosts."""
    return created(tmp_path_factory.mktemp("bed") / "bed", "pools=1", "edge_hosts=2")


def created(bed: Path, *settings: str) -> Path:
    more = [word for setting in settings for word in ("--set", setting)]
    made = slotmark("cluster", "create", "value-only-5", "--hosts", str(HOSTS), "-o", bed, *more)
    assert made.returncode == 0, made.stderr
    return bed


def only_as(role: str, node: Path) -> str:
    """A copy of a recipe that runs on hosts of one role, by its name."""
    folder = node.parent / f"only-{role}"
    shutil.copytree(node, folder)
    file = folder / "node.toml"
    file.write_text(f'roles = ["{role}"]\n{file.read_text()}')
    return str(folder)


def test_a_node_of_one_role_is_on_no_host_of_another(bed: Path, tmp_path: Path) -> None:
    stand_in = stand_in_recipe(tmp_path, HOSTS)
    node, edge, relay, producer = str(stand_in), *(only_as(role, stand_in) for role in ("edge", "relay", "producer"))
    relays = created(tmp_path / "relays", "pools=1")
    for of, given, said in (
        (bed, (edge,), "node-0 has a pool, and only-edge can only be edge (roles in its node.toml). Give it to those, as"),
        (bed, (node, f"{edge}=relay"), "node-1 is a relay, and only-edge can only be edge"),
        (bed, (node, f"{relay}=edge"), "node-2 is an edge host, and only-relay can only be relay"),
        (bed, (producer,), "node-1 is a relay, and only-producer can only be producer (roles in its node.toml). Name"),
        (relays, (node, f"{edge}=edge"), "none is an edge host. Make a bed with some: `cluster create … --set pools=1 --set edge"),
        (bed, (f"{relay}=relay", f"{edge}=edge", "--mixed"), "expected two --node, one of them without a role"),
    ):  # fmt: skip
        nodes = [word for one in given for word in (("--node", one) if one != "--mixed" else (one,))]
        done = slotmark("cluster", "run", of, *nodes, "-o", tmp_path / "live", *OPTIONS)
        assert done.returncode == 2
        assert said in done.stderr.splitlines()[-1]
    assert not (tmp_path / "live").exists()


def test_edge_hosts_run_a_node_of_their_own_that_nobody_has_to_reach(bed: Path, tmp_path: Path) -> None:
    stand_in, out = stand_in_recipe(tmp_path, HOSTS), tmp_path / "runs"
    nodes = ("--node", str(stand_in), "--node", f"{only_as('edge', stand_in)} --deaf 3=edge")
    done = slotmark("cluster", "run", bed, *nodes, "-o", out / "one", *OPTIONS)
    assert done.returncode == 0, done.stderr
    rows = open_run(out / "one").table("host_nodes").to_pylist()
    assert [(row["role"], row["name"]) for row in rows] == [
        ("producer", "stand-in"),
        ("relay", "stand-in"),
        ("edge", "only-edge"),
        ("edge", "only-edge"),
    ]
    deaf = slotmark("cluster", "run", bed, "--node", f"{stand_in} --deaf 1", "-o", tmp_path / "deaf", *OPTIONS)
    assert deaf.returncode == 2
    assert "node-1 does not listen on its port" in deaf.stderr.splitlines()[-1]
    mixed = slotmark("cluster", "run", bed, *nodes, "--mixed", "--rounds", "2", "-o", out, *OPTIONS)
    assert mixed.returncode == 0, mixed.stderr
    rounds = [open_run(path).table("host_nodes").to_pylist() for path in mixed.stdout.splitlines()]
    assert [[row["stays"] for row in rows] for rows in rounds] == [[True, True, False, False]] * 2
    first, second = ([row["name"] for row in rows] for rows in rounds)
    assert first[:2] == second[:2] == ["stand-in", "stand-in"]
    assert sorted(first[2:]) == ["only-edge", "stand-in"]
    assert second[2:] == first[:1:-1]


def test_edge_hosts_adopt_all_blocks_and_no_host_follows_them(tmp_path: Path) -> None:
    skip_without_programs()
    bed, out = created(tmp_path / "bed", "pools=2", "edge_hosts=1"), tmp_path / "live"
    done = slotmark("cluster", "run", bed, "--network", "loopback", "--start-in", "3s", "--for", "30s", "-o", out)
    assert done.returncode == 0, done.stderr
    run = open_run(out)
    of = read_bed(bed)
    ports = {f"127.0.0.1:{host.port}": host.name for host in of.hosts}
    links = {(of.hosts[link.follower].name, of.hosts[link.producer].name) for link in of.links}
    # A connection's ends don't show who began it: what passes over it does.
    connected = {(row["host"], row["peer"]) for row in run.table("connections").to_pylist()}
    assert connected == links | {(peer, host) for host, peer in links}
    events = run.table("block_events").to_pylist()
    from_peers = {
        (row["host"], ports[row["remote"]]) for row in events if row["event"] in ("noticed", "requested", "fetched")
    }
    assert from_peers <= links
    assert {peer for host, peer in from_peers if host == "node-3"} == {"node-0", "node-1", "node-2"}
    assert "node-3" not in {peer for _, peer in from_peers}
    adopted: dict[str, set[str]] = {name: set() for name in ports.values()}
    for row in events:
        if row["event"] in ("adopted", "self_adopted"):
            adopted[row["host"]].add(row["block"])
    slots = {row["block"]: row["slot"] for row in events if row["event"] == "forged"}
    # A block of the last moments may be on its way when nodes end, and one that lost a slot battle isn't adopted by all.
    of_others = set.intersection(*(adopted[f"node-{number}"] for number in range(3)))
    settled = {block for block in of_others if slots[block] < max(slots.values()) - 3}
    assert len(settled) > 1  # of 27 slots; a block comes in two of five
    assert settled <= adopted["node-3"]
    assert {row["host"] for row in events if row["event"] in ("announced", "sending")} == {"node-0", "node-1", "node-2"}
