"""Live runs of workloads that do more than move value: what transactions do is in blocks, and no node refuses any of it."""

import json
import re
import tomllib
from collections import Counter
from pathlib import Path

import pytest

from slotmark.benches.cluster.bed import read_bed
from slotmark.metrics import Analysis
from slotmark.run import Run, open_run
from tests.cluster.live.machine import skip_without_programs
from tests.conftest import REPO, slotmark

pytestmark = [pytest.mark.slow, pytest.mark.timeout(1800)]

PROFILES = REPO / "python" / "slotmark" / "benches" / "cluster" / "profiles"

MEMPOOL = re.compile(r'"ns":"Mempool\.(AddedTx|RejectedTx)".*"txid":"([0-9a-f]{8})')
"""A transaction that a mempool took or refused, by the beginning of its id."""


def made(profile: str, folder: Path, *settings: str) -> Run:
    """A run of a minute on a bed of a profile."""
    skip_without_programs()
    more = [word for setting in settings for word in ("--set", setting)]
    created = slotmark("cluster", "create", profile, "-o", folder / "bed", *more)
    assert created.returncode == 0, created.stderr
    options = ("--network", "loopback", "--for", "60s", "-o", folder / "live")
    done = slotmark("cluster", "run", folder / "bed", *options, timeout=900)
    assert done.returncode == 0, done.stderr
    return open_run(folder / "live")


def in_blocks(run: Run) -> Counter[str]:
    """Numbers of transactions of the load in blocks, by what they do."""
    actions = {row["transaction"]: row["action"] for row in run.table("submissions").to_pylist()}
    return Counter(actions[row["transaction"]] for row in run.table("inclusions").to_pylist())


def refuse_nothing(run: Run, logs: Path) -> None:
    """Checks that no node found a transaction or a block invalid.

    A node that gets a transaction when it is in a block already refuses it too: its inputs are spent. Such a late copy was taken by a mempool
    before. A transaction that isn't valid is taken by none.
    """
    found = {"AddedTx": list[str](), "RejectedTx": list[str]()}
    for log in logs.glob("node-*/stdout"):
        for event, transaction in MEMPOOL.findall(log.read_text(encoding="utf-8")):
            found[event].append(transaction)
    assert len(set(found["AddedTx"])) > 100
    assert set(found["RejectedTx"]) <= set(found["AddedTx"])
    with Analysis(run) as analysis:
        rejected = sum(row["rejected"] for row in analysis.relation("rejections").to_pylist())
    assert rejected == len(found["RejectedTx"])
    errors = {log.parent.name: log.read_text(encoding="utf-8") for log in logs.glob("node-*/stderr")}
    assert len(errors) == 5
    assert not [text for text in errors.values() if "was refused" in text]
    # Blocks of one producer are never left: each that it forged is on all hosts, but for those that were on their way at the end.
    events = run.table("block_events").to_pylist()
    slots = {row["block"]: row["slot"] for row in events if row["event"] == "forged"}
    settled = {block for block, slot in slots.items() if slot < max(slots.values()) - 5}
    adopted = Counter(row["block"] for row in events if row["event"] == "adopted")
    assert len(settled) > 5
    assert {adopted[block] for block in settled} == {5}


@pytest.mark.parametrize(("profile", "funds"), [("mixed-5", 8), ("voting-5", 20)])
def test_all_actions_of_a_profile_are_in_blocks(profile: str, funds: int, tmp_path: Path) -> None:
    """Few funds, so that each does enough to vote; one pool, since a transaction that a slot battle loses takes with it what spends its outputs."""
    run = made(profile, tmp_path, f"live.funds={funds}", "pools=1")
    actions = read_bed(tmp_path / "bed").profile["workload"]["actions"]
    found = in_blocks(run)
    # Who proposes has to be registered.
    assert set(found) == {name for name, share in actions.items() if share} | {"registration"}
    assert found.total() > 0.8 * run.table("submissions").num_rows > 300
    with Analysis(run) as analysis:
        assert not any(row["overtaken"] for row in analysis.relation("submitted").to_pylist())
    refuse_nothing(run, tmp_path / "live.logs")


def test_blocks_of_a_script_use_what_the_profile_gives_them(tmp_path: Path) -> None:
    run = made("plutus-5", tmp_path, "pools=1", "security_parameter=3")
    assert set(in_blocks(run)) == {"script"}
    refuse_nothing(run, tmp_path / "live.logs")
    stated = json.loads((tmp_path / "bed" / "profile.json").read_bytes())["generator"]["plutus"]["units"]
    budgets = tomllib.loads((PROFILES / "plutus-5.toml").read_text(encoding="utf-8"))["genesis"]["budgets"]
    whole, of_block = budgets["transaction"], budgets["block"]
    # The loop counts as far as the budget of a transaction reaches, which memory or steps use up first.
    assert 0.999 < max(stated[kind] / whole[kind] for kind in whole) <= 1
    replayed = slotmark(
        *("ledger", "run", "--live", tmp_path / "live.logs" / "node-0", "--backend", "memory", "--rounds", "1"),
        *("-o", tmp_path / "replayed"),
    )
    assert replayed.returncode == 0, replayed.stderr
    blocks = open_run(tmp_path / "replayed" / "memory").table("blocks").to_pylist()
    counts = Counter(row["block"] for row in run.table("inclusions").to_pylist())
    of_load = [(counts[row["hash"]], row) for row in blocks if counts[row["hash"]]]
    assert len(of_load) > 2
    for count, row in of_load:
        used = {"memory": row["script_memory"], "steps": row["script_steps"]}
        assert used == {kind: count * units for kind, units in stated.items()}
        assert all(used[kind] <= of_block[kind] for kind in used)
    # As many as fit.
    assert max(count for count, _ in of_load) == min(of_block[kind] // stated[kind] for kind in stated) == 4
