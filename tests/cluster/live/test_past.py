"""A run that begins with blocks of before: forged for its start, in the database of each host, and gone on with by real nodes."""

import json
import shutil
from pathlib import Path

import pytest

from slotmark.run import open_run
from tests.cluster.live.machine import skip_without_programs, stand_in_recipe
from tests.conftest import slotmark

EPOCHS, EPOCH_SLOTS = 3, 500
FIRST_SLOT = EPOCHS * EPOCH_SLOTS
OPTIONS = ("--network", "loopback", "--no-workload", "--start-in", "3s", "--ready-within", "2min")


@pytest.fixture(scope="module")
def bed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("bed") / "bed"
    settings = ("--hosts", "3", "--set", "pools=2", "--set", f"live.past_epochs={EPOCHS}")
    done = slotmark("cluster", "create", "value-only-5", *settings, "-o", folder)
    assert done.returncode == 0, done.stderr
    assert f"a run begins in slot {FIRST_SLOT:,}, after {EPOCHS} epochs with a few blocks each" in done.stderr
    return folder


def test_nodes_go_on_with_the_chain_of_before(bed: Path, tmp_path: Path) -> None:
    skip_without_programs()
    out = tmp_path / "live"
    done = slotmark("cluster", "run", bed, "--for", "15s", "-o", out, *OPTIONS)
    assert done.returncode == 0, done.stderr
    run, logs = open_run(out), Path(f"{out}.logs")
    first = run.manifest.observed["measured"][0]
    assert int(first.removeprefix("SlotGEq ")) > FIRST_SLOT
    events = run.table("block_events").to_pylist()
    assert {row["event"] for row in events} >= {"forged", "adopted"}
    assert min(row["slot"] for row in events if row["slot"] is not None) >= FIRST_SLOT
    # Each host has one chain of both parts, by the rules.
    genesis = logs / "genesis" / "genesis.shelley.json"
    before = slotmark("chain", "info", logs / "past" / "immutable", "--json")
    before = json.loads(before.stdout)
    for host in ("node-0", "node-1", "node-2"):
        chain = logs / host / "db" / "immutable"
        after = json.loads(slotmark("chain", "info", chain, "--json").stdout)
        assert after["blocks"] >= before["blocks"]
        checked = slotmark("chain", "check", chain, "--genesis", genesis)
        assert checked.returncode == 0, checked.stderr


def test_a_database_begins_with_what_its_recipe_says(bed: Path, tmp_path: Path) -> None:
    recipe = stand_in_recipe(tmp_path, 3)
    (recipe / "prepare.sh").write_text('#!/bin/sh\nmkdir "$2"; ls "$1" > "$2/seen"\n')
    (recipe / "prepare.sh").chmod(0o755)
    file = recipe / "node.toml"
    more = """
        prepare = ["./prepare.sh", "{past}", "{prepared}"]
        past_epochs = 3
        [database]
        "." = "{past}"
        made = "{prepared}"
        [genesis]
        epoch_slots = 500
    """
    file.write_text(file.read_text() + more)
    done = slotmark("cluster", "run", bed, "--node", recipe, "--for", "3s", "-o", tmp_path / "live", *OPTIONS)
    assert done.returncode == 0, done.stderr
    for host in ("node-0", "node-2"):
        database = tmp_path / "live.logs" / host / "db"
        assert (database / "protocolMagicId").read_text() == "42"
        assert (database / "immutable" / "00000.chunk").stat().st_size > 0
        assert (database / "made" / "seen").read_text().split() == ["immutable", "protocolMagicId"]
    # What can't be copied is named, and nothing is left.
    file.write_text(file.read_text().replace('made = "{prepared}"', 'made = "{prepared}/nonesuch"'))
    wrong = slotmark("cluster", "run", bed, "--node", recipe, "--for", "3s", "-o", tmp_path / "wrong", *OPTIONS)
    assert wrong.returncode == 2
    assert "prepared/nonesuch: what a node's database begins with can't be copied" in wrong.stderr.splitlines()[-1]
    assert not list(tmp_path.glob("wrong*"))


def test_a_node_that_the_bed_is_not_for_is_refused_with_the_bed_that_is(bed: Path, tmp_path: Path) -> None:
    recipe = stand_in_recipe(tmp_path, 3)
    file = recipe / "node.toml"
    file.write_text(
        file.read_text()
        + '\npast_epochs = 4\n[genesis]\nepoch_slots = 500\nsecurity_parameter = 21\nslot_length = "2s"\n'
    )
    plain = tmp_path / "plain"
    shutil.copytree(bed, plain)
    for one in (bed, plain):
        done = slotmark("cluster", "run", one, "--node", recipe, "--for", "3s", "-o", tmp_path / "live", *OPTIONS)
        assert done.returncode == 2
        said = done.stderr.splitlines()[-1]
        assert (
            "stand-in needs a bed with genesis.security_parameter = 21, genesis.slot_length = 2s and live.past_epochs = 4 (its node.toml)"
            in said
        )
        assert said.endswith(
            "--set genesis.security_parameter=21 --set genesis.slot_length=2s --set live.past_epochs=4"
        )
    assert not list(tmp_path.glob("live*"))


def test_a_past_beyond_the_keys_of_pools_is_refused(tmp_path: Path) -> None:
    settings = ("--set", "live.past_epochs=47", "--set", "epoch_slots=86400")
    done = slotmark("cluster", "create", "value-only-5", *settings, "-o", tmp_path / "bed")
    assert done.returncode == 2
    assert "4060800 slots: expected 4017600 at most" in done.stderr
    assert not (tmp_path / "bed").exists()
