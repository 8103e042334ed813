"""Dugite's logs beside those of another make: what a run holds of them; what they don't tell is not recorded. The lines are made up after Dugite's code."""

import json
from pathlib import Path
from typing import Any

import pytest

from slotmark.benches.cluster.ingesting.finishing import MeasuredHere
from slotmark.benches.cluster.ingesting.ingest import ingest
from slotmark.benches.cluster.requests import IngestRequest
from slotmark.errors import LogError
from slotmark.metrics import Analysis
from slotmark.run import Run
from slotmark.run.machine import machine_facts
from tests.cluster.made_up_dingo_logs import address, block_hash, followed_by
from tests.cluster.made_up_logs import rfc3339, ts
from tests.cluster.test_dingo import values
from tests.cluster.test_ingest import ingested
from tests.conftest import slotmark

BLOCKS = 20


def said(ts_ns: int, message: str, **fields: Any) -> str:
    """A line of a Dugite, whose times are in microseconds."""
    line = {
        "timestamp": f"{rfc3339(ts_ns)[:26]}Z",
        "level": "DEBUG",
        "fields": {"message": message, **fields},
        "target": "dugite_node::node",
    }
    return json.dumps(line, separators=(",", ":"), ensure_ascii=False) + "\n"


def follower(peer: str) -> str:
    """The log of a host that gets all blocks from a peer: asks 12 ms, has fetched 60 ms, and adopts 93 ms into each second slot."""
    lines = [said(ts(-10), "Dugite Cardano Node starting", version="1.1.0-alpha")]
    for number in range(BLOCKS):
        slot = 2 * number
        of = {"addr": peer, "count": 1, "first_slot": slot, "last_slot": slot}
        lines += [
            said(ts(slot, 12), "BlockFetch: active fetcher, downloading blocks", **of),
            said(ts(slot, 60), "BlockFetch: block decoded", addr=peer, slot=slot, block_no=number),
            said(ts(slot, 93), "Chain extended", slot=slot, block=number, txs=3, hash=block_hash(number, slot)),
            said(ts(slot, 94), "live-tip: announced block to peers", slot=slot, block=number),
            said(ts(slot + 1, 2), "Peer 10.0.0.9:3001 was promoted", peers=3),
        ]
    return "".join(lines)


def logs(folder: Path) -> Path:
    """A Dingo that makes all blocks, and a Dugite that follows it."""
    return followed_by(follower(address(0)), folder, BLOCKS)


@pytest.fixture(scope="module")
def made_up(tmp_path_factory: pytest.TempPathFactory) -> Run:
    """A run of a live cluster of both, in which it is known where hosts listen."""
    folder = tmp_path_factory.mktemp("dugite")
    return live(logs(folder / "logs"), folder / "run")


def live(logs: Path, out: Path) -> Run:
    """A run of a live cluster of two hosts, made of the logs that are there."""
    listening = {f"n{host}": address(host) for host in range(2)}
    here = MeasuredHere(machine_facts(), (0, 2 * BLOCKS), {}, {}, [], {}, listening=listening)
    run, facts = ingest(IngestRequest(logs=[str(logs)], out=out), here=here)
    assert facts.rejected == 0
    return run


def test_every_step_that_the_log_tells_is_measured(made_up: Run) -> None:
    chain = range(BLOCKS - 1)  # the tip is left out
    rows = [row for row in made_up.table("block_events").to_pylist() if row["host"] == "n1"]
    steps = {"requested": 12, "fetched": 60, "adopted": 93, "announced": 94}
    assert sorted((row["block"], row["ts_ns"], row["event"]) for row in rows) == sorted(
        (block_hash(number, 2 * number), ts(2 * number, ms), event)
        for number in range(BLOCKS)
        for event, ms in steps.items()
    )
    assert {row["remote"] for row in rows if row["event"] in ("requested", "fetched")} == {address(0)}
    with Analysis(made_up, filters=[]) as analysis:
        senders = analysis.query("SELECT DISTINCT host, from_host FROM senders").to_pylist()
    assert senders == [{"host": "n1", "from_host": "n0"}]
    assert values(made_up, "adopted_by_100") == {(number,): pytest.approx(0.093, abs=1e-9) for number in chain}
    assert set(values(made_up, "adoption_share").values()) == {1.0}
    assert values(made_up, "host_adopted") == {(number, "n1"): pytest.approx(0.093, abs=1e-9) for number in chain}
    (row,) = (row for row in made_up.table("hosts").to_pylist() if row["host"] == "n1")
    assert (row["node"], row["version"], row["kept"]) == ("dugite", "1.1.0-alpha", 1 + 4 * BLOCKS)


def test_what_the_log_does_not_tell_is_not_recorded(made_up: Run) -> None:
    for metric in ("peer_requested", "peer_fetched", "peer_adopted", "forge_starts", "cpu_percent"):
        assert not [key for key in values(made_up, metric) if "n1" in key], metric
    shown = slotmark("show", made_up.path)
    assert shown.returncode == 0, shown.stderr
    assert "Not recorded: " in " ".join(shown.stdout.split())


def test_the_peer_of_a_connection_is_the_host_that_listens_at_its_end(made_up: Run) -> None:
    rows = [(row["host"], row["local"], row["remote"], row["peer"]) for row in made_up.table("connections").to_pylist()]
    assert rows == [("n0", address(0), address(1, 40_000), "n1"), ("n1", None, address(0), "n0")]


@pytest.mark.parametrize("left", ["no log", "a log with nothing of interest"])
def test_a_peer_that_the_run_has_nothing_of_takes_no_part_in_clocks(left: str, tmp_path: Path) -> None:
    """As one whose machine was lost: where it listens is known, and others were connected to it."""
    log = logs(tmp_path / "logs") / "n0.jsonl"
    if left == "no log":
        log.unlink()
    else:
        log.write_text(said(ts(0), "Peer 10.0.0.9:3001 was promoted", peers=3), encoding="utf-8")
    run = live(tmp_path / "logs", tmp_path / "run")
    assert [(row["host"], row["peer"]) for row in run.table("connections").to_pylist()] == [("n1", "n0")]
    assert [row["host"] for row in run.table("clocks").to_pylist()] == ["n1"]


def test_a_log_in_its_usual_form_is_refused(tmp_path: Path) -> None:
    folder = tmp_path / "logs"
    folder.mkdir()
    (folder / "n1.log").write_text("2026-04-21T20:08:40.020627Z  INFO dugite_node: Chain extended slot=7\n" * 5)
    with pytest.raises(LogError, match=r"no file in it begins like a node's log.*\(Dugite, Amaru\)"):
        ingested(folder, tmp_path / "run")


def test_two_blocks_of_one_slot_are_not_mixed_up(tmp_path: Path) -> None:
    folder = logs(tmp_path / "logs")
    other = "cc" * 32
    with (folder / "n1.jsonl").open("a", encoding="utf-8") as file:
        file.write(said(ts(38, 200), "BlockFetch: block decoded", addr=address(0), slot=38, block_no=19))
        file.write(said(ts(38, 210), "Chain extended", slot=38, block=19, txs=0, hash=other))
        file.write(said(ts(38, 220), "live-tip: announced block to peers", slot=38, block=19))
    run, _ = ingested(folder, tmp_path / "run")
    assert run.manifest.versions["target dugite"] == "1.1.0-alpha"
    rows = [row for row in run.table("block_events").to_pylist() if row["host"] == "n1" and row["slot"] == 38]
    first = block_hash(19, 38)
    assert [(row["event"], row["block"]) for row in sorted(rows, key=lambda row: row["ts_ns"])] == [
        ("fetched", first),
        ("adopted", first),
        ("announced", first),
        ("fetched", other),
        ("adopted", other),
    ]
