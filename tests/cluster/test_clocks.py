"""Clocks from the logs alone: who is at the other end of each connection, how far clocks are apart, and what is said of it."""

import json
import shutil
from collections.abc import Callable, Mapping
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest
from typer.testing import CliRunner

from slotmark.benches.cluster.ingesting.connections import Connection, peers
from slotmark.benches.cluster.ingesting.finishing import MeasuredHere
from slotmark.benches.cluster.ingesting.ingest import ingest
from slotmark.benches.cluster.requests import IngestRequest
from slotmark.benches.cluster.simulating.direct import simulate_direct
from slotmark.benches.cluster.simulating.simulate import load_profile, simulate
from slotmark.cli import app
from slotmark.compare import compare
from slotmark.compare.deciding.policy import Policy
from slotmark.metrics import Analysis
from slotmark.run import Run, open_run
from slotmark.run.machine import machine_facts
from tests.cluster.made_up_logs import START_NS, Cluster, block_hash
from tests.cluster.planted_clocks import moved, planted
from tests.conftest import quietly

MS = 10**6


def skewed(offsets_ms: Mapping[int, float], hosts: int, slots: int) -> str:
    faults = ", ".join(f'{{kind="clock-skew", host={host}, ahead_ms={ms}}}' for host, ms in offsets_ms.items())
    settings = (
        f"hosts={hosts}",
        f"pools={hosts}",
        f"run.slots={slots}",
        "genesis.epoch_slots=500",
        f"fault=[{faults}]",
    )
    return load_profile("value-only-10.5", settings)


def clocks(run: Run) -> dict[str, dict[str, Any]]:
    return {row["host"]: row for row in run.table("clocks").to_pylist()}


def warned(run: Run) -> dict[str, str]:
    return {warning.kind: warning.text for warning in run.manifest.warnings if warning.kind.startswith("clocks")}


def test_hosts_of_one_machine_are_not_warned_of(tmp_path: Path) -> None:
    """On a busy machine a node that is slow one way looks as one whose clock is off."""
    simulate(skewed({2: 120.0}, 4, 500), 7, tmp_path / "logs", quietly)
    asked = IngestRequest(logs=[str(tmp_path / "logs")], out=tmp_path / "run")
    here = MeasuredHere(machine_facts(), (0, 499), {}, {}, [], {})
    run, _ = ingest(asked, here=here)
    assert warned(run) == {}
    assert clocks(run)["node-2"]["offset_ns"] > 100 * MS
    other, _ = ingest(msgspec.structs.replace(asked, out=tmp_path / "other"))
    assert list(warned(other)) == ["clocks_apart"]


@pytest.mark.parametrize("asymmetry_ms", [0.0, 20.0])
def test_planted_offsets_come_back_within_2_ms_and_half_the_asymmetry(tmp_path: Path, asymmetry_ms: float) -> None:
    found = planted(tmp_path / "bed", 10, 2000, 3, asymmetry_ms=asymmetry_ms)
    assert np.abs(found.errors).max() < 2 + found.half_asymmetry
    assert found.half_asymmetry <= asymmetry_ms / 2
    assert found.outside == 0


def test_clocks_that_are_right_are_no_warning_and_one_that_is_not_is(tmp_path: Path) -> None:
    good, _ = simulate_direct(skewed({}, 8, 1500), 5, tmp_path / "good", quietly)
    bad, _ = simulate_direct(skewed({5: 80.0}, 8, 1500), 5, tmp_path / "bad", quietly)
    assert warned(good) == {}
    (text,) = warned(bad).values()
    assert "these clocks are more than 5 ms from that of node-" in text
    assert "node-5 (+" in text and "node-4" not in text.partition("median clock:")[2]
    assert "--correct-clocks" in text


SLOW_NOTICES = ("peer.header_notice.mean=30ms", "peer.serve.mean=30ms")
SLOW_FROM_THE_MIDDLE = '{kind="host-slow", host=1, factor=10.0, from=500, until=1000}'


@pytest.mark.parametrize(
    ("hosts", "slots", "seed", "asymmetry_ms", "more", "fault"),
    [
        pytest.param(12, 1500, 2, 0.0, ["peer.serve.mean=30ms"], "", id="slow server"),
        pytest.param(
            12, 1500, 2, 0.0, ["peer.serve.mean=30ms", "edge_hosts=4", "pools=8"], "", id="slow server, edges"
        ),
        pytest.param(12, 1000, 4, 0.0, SLOW_NOTICES, "", id="slow server and headers"),
        pytest.param(12, 1000, 4, 0.0, [*SLOW_NOTICES, "edge_hosts=4", "pools=8"], "", id="slow headers, edges"),
        pytest.param(4, 1000, 3, 0.0, [], SLOW_FROM_THE_MIDDLE, id="a host that becomes slow"),
        pytest.param(10, 1000, 2, 20.0, [], "", id="links that are longer one way"),
    ],
)
def test_clocks_are_not_called_wrong_for_delays(
    tmp_path: Path, hosts: int, slots: int, seed: int, asymmetry_ms: float, more: list[str], fault: str
) -> None:
    for most_ms in (0.0, 300.0):
        found = planted(
            tmp_path / f"{most_ms:.0f}",
            hosts,
            slots,
            seed,
            asymmetry_ms=asymmetry_ms,
            most_ms=most_ms,
            more=more,
            fault=fault,
        )
        assert (found.called_wrong, found.left, found.outside, found.moved) == (0, 0, 0, False)
        assert np.abs(found.errors).max() < max(4.0, asymmetry_ms / 2)


def test_a_clock_that_no_delay_explains_is_named_in_a_small_cluster(tmp_path: Path) -> None:
    """Three hosts have one path more than offsets: what may be off by their links is stated as 25 times what they contradict each other by."""
    near = [
        'regions=["eu-central-1"]',
        'network.rtt=[{between=["eu-central-1","eu-central-1"],mean="500us",spread="40us"}]',
    ]
    for seed in (1, 2, 3):
        found = planted(tmp_path / f"{seed}", 3, 600, seed, asymmetry_ms=2.0, most_ms=30.0, more=near)
        assert (found.called_wrong, found.left, found.outside, found.moved) == (0, 0, 0, False)
        assert np.nanmax(found.stated - 2 * found.uncertainties) <= 0


def test_corrected_clocks_give_the_times_of_the_others_and_the_tables_stay(tmp_path: Path) -> None:
    simulate(skewed({2: 120.0}, 6, 1000), 7, tmp_path / "logs", quietly)
    as_logged, _ = ingest(IngestRequest(logs=[str(tmp_path / "logs")], out=tmp_path / "as-logged"))
    corrected, _ = ingest(IngestRequest(logs=[str(tmp_path / "logs")], out=tmp_path / "corrected", correct_clocks=True))
    assert as_logged.table("block_events").equals(corrected.table("block_events"))
    shifts = {host: row["correction_ns"] for host, row in clocks(corrected).items()}
    assert [host for host, ns in shifts.items() if ns] == ["node-2"]
    assert abs(shifts["node-2"] - 120 * MS) < 2 * MS
    assert not any(row["correction_ns"] for row in clocks(as_logged).values())
    times = {}
    for run in (as_logged, corrected):
        with Analysis(run) as analysis:
            times[run.name] = {
                (row["host"], row["block"]): row["noticed_ts_ns"] for row in analysis.relation("sightings").to_pylist()
            }
            by_host = {(row["host"], row["slot"]): row["started_ns"] for row in analysis.relation("slots").to_pylist()}
            times[f"{run.name} slots"] = by_host
            orders = {row["step"] for row in analysis.relation("impossible_orders").to_pylist()}
            # What is left is true: a host whose clock is ahead begins its slots too early.
            left = "forge loop started before its slot"
            assert orders == ({"header received before its block was forged"} if run is as_logged else {left})
    for before, after in (("as-logged", "corrected"), ("as-logged slots", "corrected slots")):
        assert times[before].keys() == times[after].keys()
        for key, ns in times[before].items():
            assert times[after][key] == (None if ns is None else ns - shifts[key[0]])
    assert corrected.manifest.parameters["clocks"] == "corrected"
    assert "times of these hosts are converted to the clock of node-" in warned(corrected)["clocks_corrected"]


@pytest.mark.parametrize(("ahead_s", "stops"), [(120, True), (-120, False)])
def test_the_ends_of_logs_are_corrected_too(tmp_path: Path, ahead_s: int, *, stops: bool) -> None:
    """A host whose clock is two minutes ahead and that stopped as much early, and one that ran on, with a clock that is behind."""
    simulate(skewed({}, 5, 300), 7, tmp_path / "true", quietly)
    shutil.copytree(tmp_path / "true", tmp_path / "wrong")
    for folder, seconds in (("true", 0), ("wrong", ahead_s)):
        log = tmp_path / folder / "node-2" / "stdout"
        lines = [json.loads(one) for one in log.read_text().splitlines()]
        began = datetime.fromisoformat(lines[0]["at"][:19])
        moved = []
        for one in lines:
            at = datetime.fromisoformat(one["at"][:19])
            if not stops or (at - began).total_seconds() < 180:
                one["at"] = f"{at + timedelta(seconds=seconds):%Y-%m-%dT%H:%M:%S}{one['at'][19:]}"
                moved.append(json.dumps(one, separators=(",", ":")) + "\n")
        log.write_text("".join(moved))
    true, corrected = (
        ingest(IngestRequest(logs=[str(tmp_path / name)], out=tmp_path / f"{name}-run", correct_clocks=True))[0]
        for name in ("true", "wrong")
    )
    assert [host for host, row in clocks(corrected).items() if row["correction_ns"]] == ["node-2"]
    early = [[one.text for one in run.manifest.warnings if one.kind == "stopped_early"] for run in (true, corrected)]
    assert early[0] == early[1]
    assert len(early[0]) == stops
    assert corrected.manifest.started[:19] == true.manifest.started[:19]
    assert corrected.manifest.ended[:19] == true.manifest.ended[:19]
    without, facts = [], []
    for run in (true, corrected):
        with Analysis(run, filters=[]) as analysis:
            without.append(analysis.relation("blocks_without_hosts").to_pylist())
            facts.append({name: text for name, text in analysis.facts() if "run time" in name or "spread" in name})
    assert without[0] == without[1]
    assert bool(without[0]) == stops
    assert len(facts[0]) == 5
    for name, text in facts[0].items():
        assert float(facts[1][name]) == pytest.approx(float(text), abs=0.1), name


def test_the_command_corrects_and_takes_a_limit(tmp_path: Path) -> None:
    simulate(skewed({1: 30.0}, 4, 600), 7, tmp_path / "logs", quietly)
    run = CliRunner().invoke(
        app, ["ingest", str(tmp_path / "logs"), "-o", str(tmp_path / "wide"), "--clock-limit", "50ms"]
    )
    assert run.exit_code == 0, run.output
    assert warned(open_run(tmp_path / "wide")) == {}
    run = CliRunner().invoke(app, ["ingest", str(tmp_path / "logs"), "-o", str(tmp_path / "set"), "--correct-clocks"])
    assert run.exit_code == 0, run.output
    assert clocks(open_run(tmp_path / "set"))["node-1"]["correction_ns"] > 25 * MS


Line = tuple[float, str, str, dict[str, Any]]


def exchange(
    cluster: Cluster,
    a: int,
    b: int,
    name: str,
    at_ms: float,
    delays_ms: tuple[float, float],
    peer: Any,
    ahead_ms: Mapping[int, float] | None = None,
) -> None:
    """Host `a` announces a block to `b`, which asks for it and gets it; clocks are right but for those that are ahead."""
    there, back = delays_ms
    block = block_hash(name)
    data = {"addBlock": f"{block}@1", "blockingRead": True, "risingEdge": True}
    after = {"addBlock": f"{block}@1", "blockingRead": True}  # the line that nodes write when the header was sent
    for host, ms, namespace, kind, more in (
        (a, 0.0, "ChainSync.ServerHeader.Update", "ChainSyncServer.Update", data),
        (a, 1.0, "ChainSync.ServerHeader.Update", "ChainSyncServer.Update", after),
        (b, there, "ChainSync.Client.DownloadedHeader", "DownloadedHeader", {"block": block, "blockNo": 1, "slot": 1}),
        (b, there, "BlockFetch.Client.SendFetchRequest", "SendFetchRequest", {"head": block, "length": 1}),
        (a, there + back, "BlockFetch.Server.SendBlock", "BlockFetchServer", {"block": block}),
        (b, 2 * there + back, "BlockFetch.Client.CompletedBlockFetch", "CompletedBlockFetch", {"block": block}),
    ):
        ends = (a, b) if host == a else (b, a)
        ahead = (ahead_ms or {}).get(host, 0.0)
        cluster.say(host, START_NS + round((at_ms + ms + ahead) * MS), namespace, kind=kind, **more, **peer(*ends))


def addressed(own: int, other: int) -> dict[str, Any]:
    return {"peer": {"connectionId": f"10.0.0.{own + 1}:3001 10.0.0.{other + 1}:3001"}}


def legacy(own: int, other: int) -> dict[str, Any]:
    return {
        "peer": {
            "local": {"addr": f"10.0.0.{own + 1}", "port": "3001"},
            "remote": {"addr": f"10.0.0.{other + 1}", "port": "3001"},
        }
    }


@pytest.mark.parametrize("peer", [addressed, legacy])
def test_connections_of_all_ages_bound_offsets(tmp_path: Path, peer: Any) -> None:
    cluster = Cluster(2)
    cluster.forge(0, 10, 0, "first", None, announced_ms=None, sending_ms=None)
    for number in range(4):
        exchange(cluster, 0, 1, f"b{number}", 20_000 * number + 15_000, (30 + number, 10 + number), peer)
    run, _ = ingest(IngestRequest(logs=[str(cluster.write(tmp_path / "logs"))], out=tmp_path / "run"))
    assert run.table("least_differences").select(["sender", "receiver", "least_ns", "messages"]).to_pylist() == [
        # All times are whole ms, so that each may be 1 ms early.
        {"sender": "node-0", "receiver": "node-1", "least_ns": 31 * MS, "messages": 8},
        {"sender": "node-1", "receiver": "node-0", "least_ns": 11 * MS, "messages": 4},
    ]
    found = clocks(run)
    assert found["node-0"] == {
        "host": "node-0", "offset_ns": 0, "low_ns": 0, "high_ns": 0, "error_ns": None, "is_reference": True,
        "correction_ns": 0,
    }  # fmt: skip
    assert [found["node-1"][name] for name in ("offset_ns", "low_ns", "high_ns")] == [10 * MS, -11 * MS, 31 * MS]
    assert "node-1 (+10.0 ms, -11.0 to +31.0 whatever the delays)" in warned(run)["clocks_apart"]


def test_logs_without_connections_leave_clocks_unknown(tmp_path: Path) -> None:
    cluster = Cluster(2)
    cluster.forge(0, 10, 0, "first", None)
    cluster.observe(1, 10, 0, "first")
    run, _ = ingest(IngestRequest(logs=[str(cluster.write(tmp_path / "logs"))], out=tmp_path / "run"))
    assert {row["offset_ns"] for row in clocks(run).values()} == {None}
    assert run.manifest.tables["connections"] == run.manifest.tables["least_differences"] == 0
    assert warned(run).keys() == {"clocks_unknown"}
    assert (
        "of any host are not known: log lines of headers and blocks don't name the connection"
        in warned(run)["clocks_unknown"]
    )


def test_a_host_that_only_listens_has_bounds_on_one_side(tmp_path: Path) -> None:
    cluster = Cluster(3)
    cluster.forge(0, 10, 0, "first", None, announced_ms=None, sending_ms=None)
    exchange(cluster, 0, 1, "b", 15_000.5, (5.25, 5.25), addressed)
    one_way = block_hash("one-way")
    data = {"addBlock": f"{one_way}@1", "blockingRead": True, "risingEdge": True}
    cluster.say(0, START_NS + 16_000 * MS + 1, "ChainSync.ServerHeader.Update", kind="x", **data, **addressed(0, 2))
    noticed = {"block": one_way, "blockNo": 1, "slot": 1}
    cluster.say(
        2, START_NS + 16_007 * MS + 1, "ChainSync.Client.DownloadedHeader", kind="x", **noticed, **addressed(2, 0)
    )
    run, _ = ingest(IngestRequest(logs=[str(cluster.write(tmp_path / "logs"))], out=tmp_path / "run"))
    row = clocks(run)["node-2"]
    assert (row["offset_ns"], row["low_ns"], row["high_ns"]) == (None, None, 7 * MS)
    assert "The errors of the clocks of node-2 are not known" in warned(run)["clocks_unknown"]


def test_a_clock_that_is_set_during_the_run_is_told_of(tmp_path: Path) -> None:
    cluster = Cluster(4)
    cluster.forge(0, 10, 0, "first", None, announced_ms=None, sending_ms=None)
    for number, (a, b) in enumerate([(0, 1), (1, 2), (2, 3), (3, 0), (2, 1), (1, 0), (3, 2), (0, 3)]):
        ahead_ms = {2: 200.0} if number >= 4 else {}
        exchange(cluster, a, b, f"b{number}", 20_000.1 * number + 15_000, (5, 5), addressed, ahead_ms)
    run, _ = ingest(IngestRequest(logs=[str(cluster.write(tmp_path / "logs"))], out=tmp_path / "run"))
    assert "No constant difference of the clocks of node-2 fits" in warned(run)["clocks_moved"]
    assert clocks(run)["node-2"]["offset_ns"] is None
    assert clocks(run)["node-1"]["offset_ns"] is not None


@pytest.fixture(scope="module", params=[8, 20])
def steady(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Run:
    """A run whose clocks are right all the time."""
    folder = tmp_path_factory.mktemp("steady") / "run"
    return simulate_direct(skewed({}, request.param, 1500), 1, folder, quietly)[0]


def drifting(parts_per_million: float) -> Callable[[np.ndarray], np.ndarray]:
    return lambda since: parts_per_million * since / 1e3


@pytest.mark.parametrize(
    "shifts",
    [
        pytest.param({}, id="none"),
        pytest.param({"node-3": drifting(10)}, id="drift of 10 ppm"),
        pytest.param({"node-3": drifting(-50)}, id="drift of 50 ppm"),
        pytest.param({"node-5": lambda since: 20.0 * (since > 700)}, id="step of 20 ms"),
        pytest.param({"node-2": lambda since: 100.0 * ((since > 600) & (since < 900))}, id="bump of 100 ms"),
        pytest.param({"node-1": drifting(50), "node-6": lambda since: -20.0 * (since > 400)}, id="two hosts"),
    ],
)
def test_only_clocks_that_moved_are_named(
    steady: Run, tmp_path: Path, shifts: Mapping[str, Callable[[np.ndarray], np.ndarray]]
) -> None:
    found = moved(steady, tmp_path / "tables", shifts)
    # Of a clock that moved, how far it is off isn't estimated; all others are right.
    unknown = {row["host"] for row in found.clocks.to_pylist() if row["offset_ns"] is None}
    assert unknown == set(shifts)
    assert [warning.kind for warning in found.warnings] == (["clocks_moved"] if shifts else [])
    for warning in found.warnings:
        assert {name for name in unknown if name in warning.text} == set(shifts)
        assert not any(
            f"{name}:" in warning.text or f"{name}," in warning.text for name in clocks(steady).keys() - unknown
        )


def test_links_that_are_longer_one_way_are_no_clocks_that_moved(tmp_path: Path) -> None:
    for seed in range(2):
        found = planted(tmp_path / f"bed-{seed}", 20, 1500, seed, asymmetry_ms=40.0, most_ms=0.0)
        assert np.isfinite(found.errors).all()


def test_a_clock_that_moved_or_is_far_off_keeps_a_release_from_shipping(tmp_path: Path) -> None:
    assert {"clocks_moved", "clocks_apart"} <= set(Policy().stopping("cluster"))
    good, _ = simulate_direct(skewed({}, 8, 1500), 5, tmp_path / "good", quietly)
    bad, _ = simulate_direct(skewed({5: 80.0}, 8, 1500), 5, tmp_path / "bad", quietly)
    other, _ = simulate_direct(skewed({}, 8, 1500), 6, tmp_path / "other", quietly)
    usual, decision = (compare([good, one]).decision for one in (other, bad))
    assert usual and decision
    assert "clocks" not in usual.line
    assert decision.answer != "ship"
    assert "clocks_apart" in decision.line


def test_hosts_are_known_by_their_addresses() -> None:
    def of(*connections: tuple[str, str, str]) -> list[str | None]:
        return peers([Connection(*one) for one in connections])

    # Both log the two ends.
    assert of(("a", "h:1", "h:2"), ("b", "h:2", "h:1")) == ["b", "a"]
    # The one that listens on all its addresses does not know its own.
    assert of(("a", "0.0.0.0:30001", "10.0.0.3:42527"), ("b", "10.0.0.3:42527", "10.0.0.1:30001")) == ["b", "a"]
    # One address per host: the port of a connection that was accepted means nothing.
    assert of(("a", "10.0.0.1:3001", "10.0.0.2:50123"), ("b", "10.0.0.2:3001", "10.0.0.9:3001")) == ["b", None]
    # Several hosts at one address are told apart by ports only.
    assert of(("a", "h:1", "h:9"), ("b", "h:2", "h:1"), ("c", "h:3", "h:1")) == [None, "a", "a"]
    # An address that two hosts have, as behind two networks of the same private addresses, is nobody's.
    assert of(("a", "10.0.0.1:1", "x:1"), ("b", "10.0.0.1:1", "x:1"), ("c", "x:1", "10.0.0.1:1")) == ["c", "c", None]
    # A host is not its own peer.
    assert of(("a", "h:1", "h:1")) == [None]
    # One that doesn't log its own end, as Dugite, is known by where it listens.
    unnamed = [Connection("a", None, "10.0.0.2:3001"), Connection("b", "10.0.0.2:3001", "10.0.0.1:50123")]
    assert peers(unnamed) == ["b", None]
    assert peers(unnamed, {"a": "10.0.0.1:3001"}) == ["b", "a"]
