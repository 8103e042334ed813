"""Beds as their user makes and checks them."""

import hashlib
import json
import stat
import tomllib
from pathlib import Path

import pytest

from slotmark.benches.cluster.bed import check_bed, create_bed, read_bed, stamp_bed
from slotmark.benches.cluster.metadata import UNKNOWN, read_genesis, read_metadata, regions_of_topology
from slotmark.benches.cluster.simulating.simulate import load_profile, simulate
from slotmark.errors import BedError, SimulationError
from tests.conftest import bytes_of, quietly, slotmark

SMALL = ("utxo_entries=20", "delegators=10", "dreps=2", "live.funds=3")
"""So little that a bed takes no time."""


@pytest.fixture(scope="module")
def bed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A small bed of five hosts."""
    place = tmp_path_factory.mktemp("beds") / "bed"
    create_bed("value-only-5", place, quietly, settings=SMALL)
    return place


def test_the_command_makes_a_bed_that_nothing_is_wrong_with(tmp_path: Path) -> None:
    place = tmp_path / "bed"
    settings = [word for setting in SMALL for word in ("--set", setting)]
    made = slotmark("cluster", "create", "value-only-10.5", "--hosts", "4", "-o", place, *settings)
    assert made.returncode == 0, made.stderr
    assert "4 hosts, 4 pools" in made.stderr
    assert "network.hosts: 4, 52 in the profile" in made.stderr
    checked = slotmark("cluster", "check", place)
    assert (checked.returncode, checked.stdout) == (0, "")
    bed = read_bed(place)
    assert bed.changed == {"network.hosts": (52, 4), "network.pools": (52, 4)}
    assert bed.genesis.epoch_slots == 8000
    assert [host.name for host in bed.hosts] == ["node-0", "node-1", "node-2", "node-3"]
    again = slotmark("cluster", "create", "value-only-10.5", "-o", place)
    assert again.returncode == 2
    assert "exists already" in again.stderr


def test_the_same_options_give_the_same_bytes_and_another_seed_others(bed: Path, tmp_path: Path) -> None:
    create_bed("value-only-5", tmp_path / "again", quietly, settings=SMALL)
    create_bed("value-only-5", tmp_path / "other", quietly, settings=SMALL, seed=2)
    first, again, other = (bytes_of(folder) for folder in (bed, tmp_path / "again", tmp_path / "other"))
    assert first == again
    assert first.keys() == other.keys()
    assert first["genesis/pools-keys/pool1/cold.skey"] != other["genesis/pools-keys/pool1/cold.skey"]


def test_a_pools_reward_account_is_spelled_as_the_ledger_writes_it(bed: Path) -> None:
    """cardano-node reads ``key hash`` as well, other nodes only this."""
    genesis = json.loads((bed / "genesis" / "genesis.shelley.json").read_bytes())
    pools = genesis["staking"]["pools"].values()
    assert [list(pool["rewardAccount"]["credential"]) for pool in pools] == [["keyHash"]] * len(pools)


def test_ingest_reads_what_a_bed_says_about_itself(bed: Path) -> None:
    metadata = read_metadata(bed, None)
    assert (metadata.profile, metadata.era, metadata.simulator) == ("value-only-5", "conway", None)
    assert metadata.tag.endswith("-live")
    assert metadata.workload["stuffed UTxO size"] == "20"
    assert list(regions_of_topology(bed)) == [f"node-{number}" for number in range(5)]
    genesis = read_genesis(bed, None)
    assert (genesis.epoch_length, genesis.active_slots_coeff, genesis.slot_length) == (500, 0.4, 1)
    specs = json.loads((bed / "node-specs.json").read_text())
    assert specs["node-4"] == {
        "i": 4,
        "kind": "pool",
        "pools": 1,
        "name": "node-4",
        "isProducer": True,
        "host_addr": "198.18.0.5",
        "port": 30004,
        "region": read_bed(bed).hosts[4].region,
    }


def test_the_profile_of_a_bed_can_be_simulated_on_the_same_links(bed: Path, tmp_path: Path) -> None:
    profile = load_profile(bed / "profile.toml", ["run.slots=20"])
    assert tomllib.loads(profile)["live"] == {"funds": 3}
    facts = simulate(profile, 1, tmp_path / "run", quietly)
    assert facts.hosts == 5
    simulated, live = ((folder / "topology.json").read_bytes() for folder in (tmp_path / "run", bed))
    assert simulated == live


def test_a_star_has_its_hub(tmp_path: Path) -> None:
    bed = create_bed(
        "value-only-5", tmp_path / "bed", quietly, hosts=3, settings=[*SMALL, 'network.topology={kind="star"}']
    )
    assert {(link.follower, link.producer) for link in bed.links} == {(0, 1), (0, 2), (1, 0), (2, 0)}
    hub, other = (json.loads((tmp_path / "bed" / f"node-{number}" / "topology.json").read_text()) for number in (0, 2))
    assert [root["accessPoints"] for root in hub["localRoots"]] == [
        [{"address": "198.18.0.2", "port": 30001}],
        [{"address": "198.18.0.3", "port": 30002}],
    ]
    assert [root["accessPoints"] for root in other["localRoots"]] == [[{"address": "198.18.0.1", "port": 30000}]]


def test_no_host_follows_an_edge_host(tmp_path: Path) -> None:
    place, settings = tmp_path / "bed", [word for setting in SMALL for word in ("--set", setting)]
    sizes = ("--hosts", "6", "--set", "pools=3", "--set", "edge_hosts=2")
    made = slotmark("cluster", "create", "value-only-5", *sizes, "-o", place, *settings)
    assert made.returncode == 0, made.stderr
    assert "6 hosts, 3 pools, 2 edge hosts, " in made.stderr
    assert check_bed(place) == []
    bed = read_bed(place)
    assert [(host.pool is not None, host.edge) for host in bed.hosts] == [(True, False)] * 3 + [
        (False, False),
        (False, True),
        (False, True),
    ]
    points = [
        {point["port"] for root in json.loads(text)["localRoots"] for point in root["accessPoints"]}
        for text in ((place / host.name / "topology.json").read_text() for host in bed.hosts)
    ]
    assert all(points)
    assert set().union(*points) == {30000, 30001, 30002, 30003}
    specs = json.loads((place / "node-specs.json").read_text())
    assert [specs[host.name]["kind"] for host in bed.hosts] == ["pool", "pool", "pool", "relay", "edge", "edge"]
    facts = simulate(load_profile(place / "profile.toml", ["run.slots=20"]), 1, tmp_path / "run", quietly)
    assert facts.hosts == 6
    assert (tmp_path / "run" / "topology.json").read_bytes() == (place / "topology.json").read_bytes()
    all_hosts = (tmp_path / "more", *settings, "--set", "edge_hosts=1")
    refused = slotmark("cluster", "create", "value-only-5", "-o", *all_hosts)
    assert refused.returncode == 2
    assert "as many as there are hosts without a pool, 0, at the most" in refused.stderr.splitlines()[-1]


def test_fewer_hosts_keep_the_stake_of_the_first_pools(tmp_path: Path) -> None:
    settings = [*SMALL, "network.stake=[1.0, 2.0, 3.0, 4.0, 5.0]"]
    bed = create_bed("value-only-5", tmp_path / "bed", quietly, hosts=2, settings=settings)
    assert [host.stake for host in bed.hosts] == [1.0, 2.0]
    with pytest.raises(BedError, match=r"network\.stake has 5 pools"):
        create_bed("value-only-5", tmp_path / "more", quietly, hosts=6, settings=settings)
    assert not (tmp_path / "more").exists()


def test_a_stamped_bed_starts_when_it_is_asked_to(bed: Path, tmp_path: Path) -> None:
    stamp_bed(bed, tmp_path, 1_790_000_000, loopback=True, node="another-make")
    assert check_bed(tmp_path) == []
    assert read_genesis(tmp_path, None).system_start_ns == 1_790_000_000 * 10**9
    meta = json.loads((tmp_path / "meta.json").read_text())["meta"]
    assert meta["timing"]["start"] == 1_790_000_000
    assert meta["tag"].startswith("2026-09-21-14-13-")
    # The profile describes slotmark-node and its build.
    metadata = read_metadata(tmp_path, None)
    assert metadata.ident == "another-make"
    assert {package.version for package in metadata.packages.values()} == {UNKNOWN}
    topology = json.loads((tmp_path / "node-0" / "topology.json").read_text())
    points = [point for root in topology["localRoots"] for point in root["accessPoints"]]
    assert {point["address"] for point in points} == {"127.0.0.1"}
    config = json.loads((tmp_path / "node-0" / "config.json").read_text())
    shelley = (tmp_path / "genesis" / "genesis.shelley.json").read_bytes()
    assert config["ShelleyGenesisHash"] == hashlib.blake2b(shelley, digest_size=32).hexdigest()


def test_the_check_names_each_thing_in_a_line_and_ends_with_2(bed: Path, tmp_path: Path) -> None:
    place = tmp_path / "bed"
    stamp_bed(bed, _made(place), 1_790_000_000, loopback=True, node="another-make")
    key = place / "genesis" / "pools-keys" / "pool2" / "vrf.skey"
    key.chmod(0o640)
    (place / "node-3" / "config.json").unlink()
    checked = slotmark("cluster", "check", place)
    assert checked.returncode == 2
    assert checked.stdout.splitlines() == [
        "node-3/config.json: is missing; put it back, or make the bed anew with `slotmark cluster create`.",
        "genesis/pools-keys/pool2/vrf.skey: others may use it (mode 640), and cardano-node refuses such a VRF key; chmod 600.",
    ]
    assert "2 faults" in checked.stderr
    assert stat.S_IMODE((bed / "genesis" / "pools-keys" / "pool2" / "vrf.skey").stat().st_mode) == 0o600


def _made(folder: Path) -> Path:
    folder.mkdir()
    return folder


@pytest.mark.parametrize(
    ("settings", "expected"),
    [
        (["live.fund=3"], "unknown field `fund`"),
        (["live.funds=many"], "Expected `int`"),
        (["live.funds=-1"], "live.funds is -1"),
        (["live.references=-1"], "live"),
        (["utxo_entries=17000000"], "genesis.utxo_entries is 17000000: expected 0 to 16000000"),
        (["epoch_slots=100"], "genesis.epoch_slots is 100: expected 201 at least, more than 4k/f"),
    ],
)
def test_what_makes_no_bed_is_refused_and_leaves_nothing(settings: list[str], expected: str, tmp_path: Path) -> None:
    with pytest.raises(BedError, match=r".") as raised:
        create_bed("value-only-5", tmp_path / "bed", quietly, settings=settings)
    assert expected in str(raised.value)
    assert list(tmp_path.iterdir()) == []


def test_a_profile_that_is_not_there_is_refused(tmp_path: Path) -> None:
    with pytest.raises(SimulationError, match="no such profile"):
        create_bed("value-only-6", tmp_path / "bed", quietly)


def test_a_folder_that_is_no_bed_is_refused(tmp_path: Path) -> None:
    for command in (check_bed, read_bed):
        with pytest.raises(BedError, match=r"bed\.json"):
            command(tmp_path)
    ended = slotmark("cluster", "check", tmp_path)
    assert ended.returncode == 2
    assert ended.stderr.count("\n") == 1


def test_stopping_leaves_nothing(tmp_path: Path) -> None:
    class StoppedError(Exception):
        pass

    def stop(done: int, total: int) -> None:
        raise StoppedError

    with pytest.raises(StoppedError):
        create_bed("value-only-5", tmp_path / "bed", stop, settings=["utxo_entries=50000"])
    assert list(tmp_path.iterdir()) == []
