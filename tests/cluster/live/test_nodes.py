"""The shipped nodes are started as their documentation has it; recipes that make no sense are refused in a line."""

import re
import sys
import tomllib
from collections.abc import Mapping
from pathlib import Path

import msgspec
import pytest

from slotmark.benches.cluster.bed import Host
from slotmark.benches.cluster.live.nodes import PLACES, Node, Recipe, resolve_node
from slotmark.benches.cluster.live.rundir import LOOPBACK, host_places
from slotmark.benches.cluster.live.watching import LogEnd, Tip, Watch
from slotmark.errors import TargetError
from tests.conftest import REPO

POOL = Host("node-2", "eu-central-1", "198.18.0.3", 30_002, 3, 1.0)
RELAY = Host("node-2", "eu-central-1", "198.18.0.3", 30_002, None, 0.0)


def shipped(name: str) -> Node:
    """A shipped node, whether or not its program is on this machine."""
    text = (REPO / "nodes" / name / "node.toml").read_text(encoding="utf-8")
    return Node(name, msgspec.convert(tomllib.loads(text), Recipe))


def options(words: list[str]) -> Mapping[str, str]:
    return dict(zip(words[2::2], words[3::2], strict=True))


@pytest.mark.parametrize("name", ["slotmark", "cardano-node"])
def test_the_command_line_is_cardano_nodes(name: str) -> None:
    words = shipped(name).command(host_places(POOL, POOL.host_addr, 42), producer=True)
    assert words[1] == "run"
    keys = "../genesis/pools-keys/pool3"
    own = {"--ledger-base": "../prepared"} if name == "slotmark" else {}
    follower = {
        "--config": "config.json",
        "--topology": "topology.json",
        "--database-path": "db",
        "--socket-path": "node.socket",
        "--host-addr": "198.18.0.3",
        "--port": "30002",
    }
    assert options(words) == follower | own | {
        "--shelley-kes-key": f"{keys}/kes.skey",
        "--shelley-vrf-key": f"{keys}/vrf.skey",
        "--shelley-operational-certificate": f"{keys}/opcert.cert",
    }
    relay = shipped(name).command(host_places(RELAY, LOOPBACK, 42), producer=False)
    assert options(relay) == follower | own | {"--host-addr": "127.0.0.1"}


def test_our_node_prepares_what_it_then_reads() -> None:
    words = shipped("slotmark").preparation(host_places(POOL, POOL.host_addr, 42))
    assert words[1:] == ["prepare", "--config", "config.json", "--out", "../prepared"]
    assert shipped("cardano-node").preparation(host_places(POOL, POOL.host_addr, 42)) == []


def test_dingo_gets_its_settings_from_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/usr/bin")
    places = host_places(POOL, POOL.host_addr, 42)
    assert shipped("dingo").command(places, producer=True) == ["dingo", "serve"]
    given = shipped("dingo").environment(places, producer=True)
    assert given["PATH"] == "/usr/bin"
    assert {name: value for name, value in given.items() if name.startswith(("CARDANO_", "DINGO_"))} == {
        "CARDANO_CONFIG": "config.json",
        "CARDANO_TOPOLOGY": "topology.json",
        "CARDANO_DATABASE_PATH": "db",
        "CARDANO_SOCKET_PATH": "node.socket",
        "CARDANO_BIND_ADDR": "198.18.0.3",
        "CARDANO_NETWORK_MAGIC": "42",
        "CARDANO_PORT": "30002",
        "CARDANO_PRIVATE_PORT": "32002",
        "CARDANO_METRICS_PORT": "34002",
        "DINGO_LOGGING_FORMAT": "json",
        "DINGO_LOGGING_LEVEL": "debug",
        "CARDANO_BLOCK_PRODUCER": "true",
        "CARDANO_SHELLEY_KES_KEY": "../genesis/pools-keys/pool3/kes.skey",
        "CARDANO_SHELLEY_VRF_KEY": "../genesis/pools-keys/pool3/vrf.skey",
        "CARDANO_SHELLEY_OPERATIONAL_CERTIFICATE": "../genesis/pools-keys/pool3/opcert.cert",
    }
    assert "CARDANO_BLOCK_PRODUCER" not in shipped("dingo").environment(
        host_places(RELAY, RELAY.host_addr, 42), producer=False
    )


def test_dugite_only_follows() -> None:
    node = shipped("dugite")
    words = node.command(host_places(RELAY, RELAY.host_addr, 42), producer=False)
    assert words[:2] == ["dugite-node", "run"]
    assert words[words.index("--metrics-port") + 1] == "32002"
    assert node.recipe.roles == shipped("amaru").recipe.roles == ("relay", "edge")
    for other in ("slotmark", "cardano-node", "dingo"):
        assert shipped(other).recipe.roles == ("producer", "relay", "edge")


def test_amaru_is_told_whom_it_follows_and_begins_with_what_was_prepared() -> None:
    node, places = shipped("amaru"), host_places(RELAY, RELAY.host_addr, 42)
    words = node.command(places, producer=False, peers=["198.18.0.1:30000", "198.18.0.9:30008"])
    assert words[-2:] == ["--peer-address=198.18.0.1:30000", "--peer-address=198.18.0.9:30008"]
    assert words[words.index("--network") + 1] == "testnet_42"
    assert words[words.index("--ledger-dir") + 1] == "db/ledger"
    assert node.database(places, has_past=True) == {"ledger": "../prepared/ledger", "chain": "../prepared/chain"}
    assert node.preparation(places)[1:] == [sys.executable, "../past", "../genesis", "../prepared", "testnet_42"]
    assert (node.recipe.roles, node.recipe.past_epochs) == (("relay", "edge"), 3)


@pytest.mark.parametrize("name", ["slotmark", "cardano-node"])
def test_a_database_begins_with_the_past_where_the_bed_has_one(name: str) -> None:
    places = host_places(POOL, POOL.host_addr, 42)
    assert shipped(name).database(places, has_past=True) == {".": "../past"}
    assert shipped(name).database(places, has_past=False) == {}


HASH = "aa191b63d73fc4b0cf531be2f9630c9f4097819a4bf772a233c4da99076ce7a0"


@pytest.mark.parametrize(
    ("name", "line"),
    [
        (
            "cardano-node",
            '{"at":"2026-01-01T00:00:07.470Z","ns":"ChainDB.AddBlockEvent.AddedToCurrentChain","data":{"kind":"AddedToCurrentChain",'
            f'"newtip":"{HASH}@7"}},"sev":"Notice","thread":"7","host":"node-0"}}',
        ),
        (
            "dingo",
            f'{{"time":"2026-11-21T20:08:40.020627194Z","level":"INFO","msg":"chain extended, new tip: {HASH} at slot 7",'
            '"component":"ledger","source":"forged"}',
        ),
        (
            "dugite",
            '{"timestamp":"2026-04-21T20:08:40.020627Z","level":"INFO","fields":{"message":"Chain extended","slot":7,"block":3,"txs":0,'
            f'"hash":"{HASH}"}},"target":"dugite_node::node"}}',
        ),
        (
            "amaru",
            '{"timestamp":"2026-11-27T15:58:19.020627Z","level":"TRACE","fields":{"message":"diffusion.forward_chain.new_tip",'
            f'"point":"7.{HASH}"}},"target":"amaru::consensus::forward_chain"}}',
        ),
    ],
)
def test_a_tip_is_found_in_a_line_of_a_log_when_it_is_whole(name: str, line: str, tmp_path: Path) -> None:
    recipe = shipped(name).recipe
    path = tmp_path / "stdout"
    path.write_text(line[:-30])
    log = LogEnd(path, recipe.tip, "")
    watch = Watch({"node-0": log})
    watch.look()
    assert log.tip is None
    assert not watch.agreement(["node-0"]).complete
    with path.open("a") as file:
        file.write(line[-30:] + "\n" + line[:40])
    watch.look()
    assert log.tip == Tip(HASH, 7)
    assert (watch.blocks, watch.agreement(["node-0"]).complete) == (1, True)


def test_a_tip_may_be_tied_to_the_ends_of_its_line(tmp_path: Path) -> None:
    path = tmp_path / "stdout"
    path.write_text(f"started\ntip {HASH}@7\nsomething else\ntip {HASH}@8 no more\n")
    log = LogEnd(path, r"^tip (?P<hash>[0-9a-f]+)@(?P<slot>[0-9]+)$", "")
    assert log.look() == [Tip(HASH, 7)]


def test_any_command_gets_cardano_nodes_arguments(tmp_path: Path) -> None:
    program = tmp_path / "my node"
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    node = resolve_node(f"'{program}' --tricky '{{x}}'")
    assert node.name == "my node"
    words = node.command(host_places(POOL, POOL.host_addr, 42), producer=True)
    assert words[:4] == [str(program), "--tricky", "{x}", "run"]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("command = []", "Object missing required field `tip`"),
        ("command = ['true', '{nonsense}']", "there is no {nonsense}, only address, certificate,"),
        ("command = ['true']\nother = 1", "unknown field `other`"),
        ("command = []", "command is empty"),
        ("command = ['true']\nroles = []", "roles is empty"),
        ("command = ['true']\nroles = ['leaf']", "Invalid enum value 'leaf'"),
        ("command = ['true']\nready_text = 'x'", "ready_text goes with ready = 'log'"),
        ("command = ['/no/such/program']", "/no/such/program isn't there, or can't be run"),
        ("command = ['true']\nprepare = ['/no/such/program']", "/no/such/program isn't there, or can't be run"),
        ("command = ['true', '{prepared}']", "{prepared} is used, and prepare doesn't make it"),
        ("command = ['true']\nprepare = ['true', '{nonsense}']", "there is no {nonsense}, only address, certificate,"),
        ("command = ['true'", "Unclosed array"),
        ("command = ['true', '{past}']", "{past} is used, and not every bed has one: past_epochs is 0"),
        (
            "command = ['true']\nenvironment = { X = '{peer}' }",
            "{peer} stands for several only in command and producer",
        ),
        ("command = ['true']\ndatabase = { 'a/../../b' = '{past}' }", "a place in database isn't inside of it"),
        ("command = ['true']\ndatabase = { '/etc' = '{past}' }", "a place in database isn't inside of it"),
        ("command = ['true']\nversion = ['/no/such/program']", "/no/such/program isn't there, or can't be run"),
        ("command = ['true']\nversion = ['true', '{config}']", "version is asked before places have values"),
        ("command = ['true']\ndatabase = { '.' = '{prepared}' }", "{prepared} is used, and prepare doesn't make it"),
    ],
)
def test_a_recipe_that_makes_no_sense_is_refused(tmp_path: Path, text: str, said: str) -> None:
    rest = "" if "missing" in said else "\nready = 'socket'\ntip = '(?P<hash>a)(?P<slot>1)'"
    (tmp_path / "node.toml").write_text(text + rest)
    with pytest.raises(TargetError, match=re.escape(said)):
        resolve_node(str(tmp_path))


@pytest.mark.parametrize(
    ("script", "version"),
    [
        ("echo Amaru 0.1.2", "0.1.2"),
        ("echo 'slotmark-node 1.3.0-rc.1+abc (of 2026)'; echo 9.9", "1.3.0-rc.1+abc"),
        ("echo node2 v10.5.1", "10.5.1"),
        ("echo none", ""),
        ("printf '\\377\\376 2.0'", "2.0"),
        ("printf '1%0900d' 1", "1" + "0" * 63),
    ],
)
def test_a_node_states_its_version(tmp_path: Path, script: str, version: str) -> None:
    program = tmp_path / "program"
    program.write_text(f"#!/bin/sh\n{script}\n")
    program.chmod(0o755)
    rest = "ready = 'socket'\ntip = '(?P<hash>a)(?P<slot>1)'"
    (tmp_path / "node.toml").write_text(f"command = ['true']\nversion = ['./program', '--version']\n{rest}")
    assert resolve_node(str(tmp_path)).stated_version() == version


def test_a_node_that_never_ends_to_state_its_version_is_stopped(tmp_path: Path) -> None:
    (tmp_path / "node.toml").write_text(
        "command = ['true']\nversion = ['yes']\nready = 'socket'\ntip = '(?P<hash>a)(?P<slot>1)'"
    )
    with pytest.raises(TargetError, match="printed more than"):
        resolve_node(str(tmp_path)).stated_version()


def test_a_tip_needs_its_groups(tmp_path: Path) -> None:
    for tip, said in (("x", "groups hash and slot"), ("(", "missing )")):
        (tmp_path / "node.toml").write_text(f"command = ['true']\nready = 'socket'\ntip = '{tip}'")
        with pytest.raises(TargetError, match=re.escape(said)):
            resolve_node(str(tmp_path))


def test_all_places_have_a_value() -> None:
    assert set(host_places(POOL, POOL.host_addr, 42)) == set(PLACES)
