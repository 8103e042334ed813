"""Made-up clusters of a few hosts and blocks: every number worked out by hand."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from slotmark.benches.cluster.ingesting.finishing import MeasuredHere
from slotmark.benches.cluster.ingesting.ingest import ingest
from slotmark.benches.cluster.live.sampling import USAGE_SCHEMA
from slotmark.benches.cluster.requests import IngestRequest
from slotmark.metrics import Analysis, Filter, catalogue, parse_filters
from slotmark.run import machine_facts
from tests.cluster.made_up_logs import Cluster, block_hash, ts

NONE: list[Filter] = []


def analysed(cluster: Cluster, folder: Path, filters: list[Filter] = NONE, *, published: bool = False) -> Analysis:
    run, _ = ingest(IngestRequest(logs=[str(cluster.write(folder / "logs"))], out=folder / "run"))
    return Analysis(run, filters=filters, published=published)


def values(analysis: Analysis, metric: str) -> dict[tuple[int | str, ...], float]:
    return analysis.samples(metric).of("")


def plain() -> Cluster:
    """Three hosts, three blocks that all adopt, and a fourth, the tip, that is always left out."""
    cluster = Cluster(3)
    previous = None
    for number, (forger, slot) in enumerate([(0, 10), (1, 30), (2, 50), (0, 70)]):
        name = f"block{number}"
        cluster.forge(forger, slot, number, name, previous)
        for host in range(3):
            if host != forger:
                cluster.observe(host, slot, number, name, adopted_ms=470.0 + host)
        previous = name
    return cluster


def test_a_normal_chain(tmp_path: Path) -> None:
    with analysed(plain(), tmp_path) as analysis:
        assert [
            row["block_no"] for row in analysis.query("SELECT block_no FROM blocks ORDER BY block_no").to_pylist()
        ] == [0, 1, 2]
        # Steps at 1.0, 1.1, 1.3, 1.4, 2.0, 20, 59, 60 ms; announced at 61, sent at 65, adopted at 119.9 (added to the chain first).
        for metric, ms in {
            "forge_started": 1.0,
            "forge_context": 0.1,
            "forge_state": 0.2,
            "forge_view": 0.1,
            "forge_leading": 0.6,
            "forge_ticked": 18.0,
            "forge_snapshot": 39.0,
            "forge_forged": 1.0,
            "forge_announced": 1.0,
            "forge_sending": 5.0,
            "forge_adopted": 59.9,
            "slot_to_announced": 61.0,
            # Peers notice at 100, ask at 102, have it at 400.
            "first_notice": 100.0,
            "first_fetch": 400.0,
        }.items():
            assert values(analysis, metric) == {(number,): pytest.approx(ms / 1e3, abs=1e-12) for number in range(3)}, (
                metric
            )
        # Two peers a block: 102 - 100, 400 - 102, 401 - 400, 440 - 400, 470 + host - 400.
        assert set(values(analysis, "peer_requested").values()) == {0.002}
        assert set(values(analysis, "peer_fetched").values()) == {0.298}
        assert set(values(analysis, "peer_announced").values()) == {0.001}
        assert set(values(analysis, "peer_sending").values()) == {0.04}
        assert values(analysis, "peer_adopted")[1, "node-2"] == pytest.approx(0.072)
        # Block 1: adopted at 119.9 (forger), 470 (node-0), 472 (node-2). Of three hosts floor(3 c): .5 -> 1, .8 and more -> 2.
        assert values(analysis, "adopted_by_050")[1,] == pytest.approx(0.470)
        assert values(analysis, "adopted_by_080")[1,] == pytest.approx(0.472)
        assert values(analysis, "adopted_by_100")[1,] == pytest.approx(0.472)
        assert values(analysis, "adoption_share") == {(number,): 1.0 for number in range(3)}
        assert values(analysis, "blocks_per_host") == {("node-0",): 2, ("node-1",): 1, ("node-2",): 1}
        # The tip is forged but not chained: node-0 has one of two.
        assert values(analysis, "chained_to_forged") == {("node-0",): 0.5, ("node-1",): 1, ("node-2",): 1}
        assert values(analysis, "filtered_to_chained") == {("node-0",): 1, ("node-1",): 1, ("node-2",): 1}
        assert values(analysis, "battles") == {(0,): 0, (1,): 0, (2,): 0}
        assert values(analysis, "block_bytes") == dict.fromkeys([(0,), (1,), (2,)], 88_000)
        assert analysis.warnings() == []


@pytest.mark.parametrize(
    ("hosts", "places"),
    [
        # As many as the published clusters have. More than 26 hosts, 41.6, 46.8, 47.84, 48.88, 49.4, 49.92 and 50.96 are 27, 42, 47 and so on.
        (52, (26, 41, 46, 47, 48, 49, 49, 50, 51)),
        # More than 25 hosts, 40, 45, 46, 47, 47.5, 48 and 49.
        (50, (25, 40, 45, 46, 47, 47, 48, 49, 49)),
    ],
)
def test_which_host_each_centile_is(hosts: int, places: tuple[int, ...], tmp_path: Path) -> None:
    """The forger is the first to adopt, host k the next one, at 470 + k ms."""
    cluster = Cluster(hosts)
    cluster.forge(0, 10, 0, "block", None)
    for host in range(1, hosts):
        cluster.observe(host, 10, 0, "block", adopted_ms=470.0 + host)
    cluster.forge(0, 30, 1, "tip", "block")
    with analysed(cluster, tmp_path) as analysis:
        for centile, place in zip((50, 80, 90, 92, 94, 95, 96, 98, 100), places, strict=True):
            expected = {(0,): pytest.approx((470 + place) / 1e3, abs=1e-12)}
            assert values(analysis, f"adopted_by_{centile:03}") == expected, centile


def test_stages_add_up_where_a_log_has_no_start_of_the_forge_loop(tmp_path: Path) -> None:
    cluster, previous = Cluster(2), None
    for number, forger in enumerate((0, 1, 0)):
        name, without = f"block{number}", {} if forger else {"started_ms": None}
        cluster.forge(forger, 10 + 20 * number, number, name, previous, steps_ms=without)
        previous = name
    with analysed(cluster, tmp_path) as analysis:
        stages: dict[int, dict[str, float]] = {0: {}, 1: {}}
        for row in sorted(analysis.relation("adoption_stages").to_pylist(), key=lambda row: row["step"]):
            stages[row["block_no"]][row["stage"]] = row["ns"] / 1e6
        rest = {"ledger tick": 18.0, "mempool snapshot": 39.0, "forging": 1.0, "arrival to adopted": 59.9}
        assert stages[0] == {"slot start to leadership": 2.0, **rest}
        assert stages[1] == {
            "forge loop start": 1.0,
            "block context": 0.1,
            "ledger state": 0.2,
            "ledger view": 0.1,
            "leadership check": 0.6,
            **rest,
        }
        # One stage a step: `explain` tells steps apart by it.
        steps = analysis.query("SELECT DISTINCT step, stage FROM adoption_stages").to_pylist()
        assert len({row["step"] for row in steps}) == len(steps) == len({row["stage"] for row in steps})


def test_a_height_battle_is_won_by_the_block_that_was_built_upon(tmp_path: Path) -> None:
    cluster = Cluster(3)
    cluster.forge(0, 10, 0, "root", None)
    cluster.forge(1, 30, 1, "loser", "root", adopted_ms=None)
    cluster.forge(2, 31, 1, "winner", "root")
    cluster.forge(0, 50, 2, "next", "winner")
    cluster.forge(1, 70, 3, "tip", "next")
    with analysed(cluster, tmp_path) as analysis:
        chain = {row["block"] for row in analysis.relation("chain").to_pylist()}
        assert chain == {block_hash(name) for name in ("root", "winner", "next")}
        assert values(analysis, "battles") == {(0,): 0, (1,): 1, (2,): 0}
        # node-1 forged two: one lost, one is the tip.
        assert values(analysis, "chained_to_forged") == {("node-0",): 1.0, ("node-1",): 0.0, ("node-2",): 1.0}


@pytest.mark.parametrize("other", ["a", "z"])
def test_of_two_tips_the_chain_is_that_of_the_one_which_more_hosts_adopted(other: str, tmp_path: Path) -> None:
    """Whatever their hashes."""
    cluster = Cluster(3)
    cluster.forge(0, 10, 0, "root", None)
    for name, forger, adopting in (("m", 0, 1), (other, 1, None)):
        cluster.forge(forger, 30, 1, f"{name}1", "root")
        cluster.forge(forger, 50, 2, f"{name}2", f"{name}1")
        if adopting is not None:
            cluster.observe(2, 50, 2, f"{name}2", switched=True)
    with analysed(cluster, tmp_path) as analysis:
        chain = {row["block"] for row in analysis.relation("chain").to_pylist()}
        assert chain == {block_hash("root"), block_hash("m1")}


def test_a_slot_battle_has_two_blocks_of_one_slot(tmp_path: Path) -> None:
    cluster = Cluster(2)
    cluster.forge(0, 10, 0, "a", None, adopted_ms=None)
    cluster.forge(1, 10, 0, "b", None)
    cluster.forge(1, 30, 1, "c", "b")
    with analysed(cluster, tmp_path) as analysis:
        assert [row["block"] for row in analysis.relation("chain").to_pylist()] == [block_hash("b")]
        assert values(analysis, "battles") == {(0,): 1}


def test_what_is_missing_is_missing(tmp_path: Path) -> None:
    cluster = plain()
    cluster.forge(
        1,
        90,
        4,
        "quiet",
        "block3",
        announced_ms=None,
        sending_ms=None,
        adopted_ms=120.0,
        steps_ms={"snapshot_ms": None},
    )
    cluster.observe(0, 90, 4, "quiet", announced_ms=None, sending_ms=None)
    cluster.forge(2, 110, 5, "tip", "quiet")
    with analysed(cluster, tmp_path) as analysis:
        assert (4,) not in values(analysis, "forge_announced")
        assert (4,) not in values(analysis, "forge_snapshot")
        assert values(analysis, "forge_forged")[4,] == pytest.approx(0.058)  # 60 - 2: from knowing that the slot is led
        assert (4, "node-0") not in values(analysis, "peer_sending")
        assert (4, "node-0") in values(analysis, "peer_fetched")
    with analysed(cluster, tmp_path / "published", published=True) as analysis:
        assert values(analysis, "forge_announced")[4,] == 0.01


def test_a_negative_phase_makes_an_observation_invalid(tmp_path: Path) -> None:
    cluster = plain()
    cluster.forge(1, 90, 4, "odd", "block3")
    cluster.observe(0, 90, 4, "odd", noticed_ms=100, requested_ms=99)
    cluster.observe(2, 90, 4, "odd", announced_ms=399)  # soft: it counts, with its negative value
    cluster.forge(2, 110, 5, "tip", "odd")
    with analysed(cluster, tmp_path) as analysis:
        found = values(analysis, "peer_announced")
        assert (4, "node-0") not in found
        assert found[4, "node-2"] == pytest.approx(-0.001)


@pytest.mark.parametrize(
    "times",
    [{"noticed_ms": -1.0}, {"requested_ms": 99.0}, {"fetched_ms": 101.0}, {"adopted_ms": 399.0}, {"length": 2}],
)
def test_an_observation_counts_whose_phases_follow_one_another_and_that_is_of_one_block(
    times: dict[str, Any], tmp_path: Path
) -> None:
    """Otherwise the host is notified at 100 ms, asks at 102 ms, has it at 400 ms, adopts it at 470 ms."""
    cluster = plain()
    cluster.forge(1, 90, 4, "odd", "block3")
    cluster.observe(0, 90, 4, "odd", **times)
    cluster.observe(2, 90, 4, "odd")
    cluster.forge(2, 110, 5, "tip", "odd")
    with analysed(cluster, tmp_path) as analysis:
        for metric in ("peer_requested", "peer_fetched", "peer_adopted"):
            assert [host for number, host in values(analysis, metric) if number == 4] == ["node-2"], metric
        assert values(analysis, "first_notice")[4,] == 0.1


def test_what_mixed_runs_compare_is_of_hosts_that_did_not_forge_the_block(tmp_path: Path) -> None:
    """The forger has its block at 119.9 ms, long before the others."""
    cluster = Cluster(3)
    cluster.forge(0, 10, 0, "b0", None)
    cluster.observe(1, 10, 0, "b0", adopted_ms=471.0)
    cluster.observe(2, 10, 0, "b0", adopted_ms=472.0)
    cluster.forge(1, 30, 1, "small", "b0", size=1_000)
    cluster.observe(0, 30, 1, "small")
    cluster.observe(2, 30, 1, "small")
    cluster.forge(2, 50, 2, "b2", "small")
    cluster.observe(0, 50, 2, "b2", noticed_ms=100.0, requested_ms=99.0)  # no valid observation
    cluster.observe(1, 50, 2, "b2", adopted_ms=None)
    cluster.forge(0, 70, 3, "b3", "b2")
    cluster.observe(  # a log without headers
        *(1, 70, 3, "b3"), noticed_ms=None, requested_ms=None, fetched_ms=None, announced_ms=None, adopted_ms=480.0
    )
    cluster.observe(2, 70, 3, "b3", adopted_ms=472.0)
    cluster.forge(1, 90, 4, "tip", "b3")
    with analysed(cluster, tmp_path, [Filter("BSizeGEq", 50_000)]) as analysis:
        assert values(analysis, "host_adopted") == pytest.approx(
            {(0, "node-1"): 0.471, (0, "node-2"): 0.472, (3, "node-1"): 0.480, (3, "node-2"): 0.472}
        )
        assert values(analysis, "host_share") == {
            **{(0, "node-1"): 1, (0, "node-2"): 1},
            **{(2, "node-0"): 1, (2, "node-1"): 0},
            **{(3, "node-1"): 1, (3, "node-2"): 1},
        }


def test_switching_to_a_fork_is_adopting(tmp_path: Path) -> None:
    cluster = plain()
    cluster.forge(1, 90, 4, "forked", "block3")
    cluster.observe(0, 90, 4, "forked", switched=True, adopted_ms=500)
    cluster.forge(2, 110, 5, "tip", "forked")
    with analysed(cluster, tmp_path) as analysis:
        assert values(analysis, "peer_adopted")[4, "node-0"] == pytest.approx(0.1)
        assert values(analysis, "adoption_share")[4,] == pytest.approx(2 / 3)
        # Of three hosts the third never adopted it: the upper centiles are missing, not the second's time.
        assert (4,) not in values(analysis, "adopted_by_100")
        assert values(analysis, "adopted_by_050")[4,] == pytest.approx(0.5)
    with analysed(cluster, tmp_path / "published", published=True) as analysis:
        assert (4, "node-0") not in values(analysis, "peer_adopted")
        assert values(analysis, "adopted_by_100")[4,] == pytest.approx(0.1199)  # of one host, the forger


def test_a_block_whose_forger_has_no_log_costs_only_itself(tmp_path: Path) -> None:
    cluster = Cluster(3)
    cluster.forge(0, 10, 0, "root", None)
    for host in range(3):
        cluster.observe(host, 30, 1, "stranger")
    cluster.forge(1, 50, 2, "next", "stranger")
    cluster.forge(2, 70, 3, "tip", "next")
    for host in range(3):  # each log is of the whole run
        for slot in range(72):
            cluster.check(host, slot)
    with analysed(cluster, tmp_path) as analysis:
        blocks = analysis.query("SELECT block_no, accepted, rejected_by FROM blocks ORDER BY block_no").to_pylist()
        assert [(row["block_no"], row["accepted"]) for row in blocks] == [(0, True), (1, False), (2, True)]
        assert blocks[1]["rejected_by"] == "complete in its forger's log"
        assert [warning.kind for warning in analysis.warnings()] == ["incomplete_blocks"]


def test_a_host_that_stops_early_is_told(tmp_path: Path) -> None:
    cluster = Cluster(2)
    for slot in range(200):
        cluster.check(0, slot)
        if slot < 100:
            cluster.check(1, slot)
    cluster.forge(0, 10, 0, "root", None)
    cluster.forge(0, 30, 1, "tip", "root")
    with analysed(cluster, tmp_path) as analysis:
        (warning,) = [warning for warning in analysis.run.manifest.warnings if warning.kind == "stopped_early"]
        assert "node-1" in warning.text
        # Its slots end with its log.
        assert sum(1 for _, host in values(analysis, "forge_starts") if host == "node-1") == 100


def test_a_host_whose_log_begins_late_is_told(tmp_path: Path) -> None:
    """As where the older part of a rotated log is missing; a start half a minute later is that of a cluster that starts host by host."""
    cluster = Cluster(3)
    for slot in range(200):
        cluster.check(0, slot)
        if slot >= 30:
            cluster.check(1, slot)
        if slot >= 100:
            cluster.check(2, slot)
    cluster.forge(0, 10, 0, "root", None)
    cluster.forge(0, 130, 1, "tip", "root")
    with analysed(cluster, tmp_path) as analysis:
        (warning,) = [warning for warning in analysis.run.manifest.warnings if warning.kind == "began_late"]
        assert warning.text.startswith("The logs of node-2 begin")
        assert "stopped_early" not in {warning.kind for warning in analysis.run.manifest.warnings}
        assert sum(1 for _, host in values(analysis, "forge_starts") if host == "node-2") == 100


def of_three_hosts(slots: int, gone: Sequence[int], *, caught_up_at: int | None = None) -> Cluster:
    """A block in every twentieth slot and a line of each slot; the last host lacks some slots, and adopts their blocks later where it catches up."""
    cluster = Cluster(3)
    previous = None
    for number, slot in enumerate(range(10, slots, 20)):
        name = f"block{number}"
        cluster.forge(0, slot, number, name, previous)
        cluster.observe(1, slot, number, name, adopted_ms=470.0)
        if slot not in gone:
            cluster.observe(2, slot, number, name, adopted_ms=470.0)
        elif caught_up_at is not None:
            cluster.observe(2, slot, number, name, adopted_ms=470.0 + 1_000.0 * (caught_up_at - slot))
        previous = name
    for slot in range(slots):
        for host in range(3):
            if host < 2 or slot not in gone:
                cluster.check(host, slot)
    return cluster


@pytest.mark.parametrize("logged", [range(100), range(100, 200)])
def test_nothing_ships_on_blocks_for_which_a_host_has_no_log(tmp_path: Path, logged: range) -> None:
    """A host whose log lacks half of the run counts as slow there, so that the run beside it seems to be faster: nothing ships, unless these slots are left out."""
    cluster = of_three_hosts(200, [slot for slot in range(200) if slot not in logged])
    with analysed(cluster, tmp_path) as analysis:
        (warning,) = [one for one in analysis.warnings() if one.kind == "blocks_outside_logs"]
        assert "of node-2 had not begun, had ended, or have a hole" in warning.text
        assert warning.kind in catalogue("cluster").stopping
        run = analysis.run
    within = parse_filters([f"SlotGEq:{logged.start}", f"SlotLEq:{logged.stop - 1}"], "cluster")
    with Analysis(run, filters=within) as analysis:
        assert "blocks_outside_logs" not in {one.kind for one in analysis.warnings()}


@pytest.mark.parametrize(
    ("hole", "lacks", "stops"), [(range(100, 300), 10, True), (range(0), 0, False), (range(100, 140), 2, False)]
)
def test_nothing_ships_on_blocks_that_lie_in_a_hole_of_a_log(
    tmp_path: Path, hole: range, lacks: int, *, stops: bool
) -> None:
    """As where a rotated piece of a log is lost: the host counts as not having adopted what was in it."""
    cluster = of_three_hosts(400, hole)
    with analysed(cluster, tmp_path) as analysis:
        found = {one.kind: one for one in analysis.warnings()}
        assert ("blocks_outside_logs" in found, "blocks_without_hosts" in found) == (stops, lacks > 0)
        if stops:
            assert found["blocks_outside_logs"].text.startswith(
                f"{lacks} of 19 analysed blocks were made while the logs of node-2 "
            )
        if lacks:
            assert f"Adoption of {lacks} of 19 " in found["blocks_without_hosts"].text
            assert "(node-2)" in found["blocks_without_hosts"].text


@pytest.mark.parametrize("gone", [range(90, 140), range(59)])
def test_nothing_ships_where_a_host_lacks_many_of_the_blocks_of_a_short_run(tmp_path: Path, gone: range) -> None:
    """Less than a minute is a part that counts there: 55 s of 300 made 0.50 adoption of five hosts 3 % longer, with a margin of 2 %."""
    with analysed(of_three_hosts(200, gone), tmp_path) as analysis:
        (warning,) = [one for one in analysis.warnings() if one.kind == "blocks_outside_logs"]
        assert warning.text.startswith("3 of 9 analysed blocks were made while the logs of node-2 ")


@pytest.mark.parametrize("published", [False, True])
def test_shares_of_hosts_have_the_blocks_that_a_filter_on_adoptions_leaves_out(tmp_path: Path, published: bool) -> None:
    """As workbench profiles have it: a host that lost every third block seemed to have adopted all, since no block that it lost was looked at."""
    cluster = of_three_hosts(200, range(10, 200, 60))
    for slot in range(10, 200, 60):
        cluster.check(2, slot)
    with analysed(
        cluster, tmp_path, parse_filters(["BMinimumAdoptions 2"], "cluster"), published=published
    ) as analysis:
        lost = [number for number in range(9) if number % 3 == 0]
        share = 1.0 if published else 2 / 3
        assert values(analysis, "adoption_share") == {
            (number,): share if number in lost else 1.0 for number in range(9)
        }
        of_hosts = {
            (row["block_no"], row["host"]): row["share"] for row in analysis.relation("host_shares").to_pylist()
        }
        assert of_hosts == {
            (number, f"node-{host}"): float(host == 1 or number not in lost) for number in range(9) for host in (1, 2)
        }
        assert set(values(analysis, "adopted_by_096")) == {(number,) for number in range(9) if number not in lost}
        assert not {one.kind for one in analysis.warnings()} & {"blocks_outside_logs", "blocks_without_hosts"}


def test_shares_of_hosts_are_of_blocks_that_pass_the_other_filters(tmp_path: Path) -> None:
    filters = parse_filters(["SlotGEq 100", "BMinimumAdoptions 2"], "cluster")
    with analysed(of_three_hosts(200, range(0)), tmp_path, filters) as analysis:
        assert values(analysis, "adoption_share") == {(number,): 1.0 for number in range(5, 9)}


@pytest.mark.parametrize(
    ("filters", "stops"), [(["BMinimumAdoptions 2"], True), (["BMinimumAdoptions 2", "SlotLEq 99"], False)]
)
def test_a_filter_on_adoptions_hides_no_log_that_ended(tmp_path: Path, filters: list[str], stops: bool) -> None:
    """Blocks after a host's end are in the shares: whether it died or its log was cut isn't known, unless these slots are left out."""
    with analysed(of_three_hosts(200, range(100, 200)), tmp_path, parse_filters(filters, "cluster")) as analysis:
        found = {one.kind: one.text for one in analysis.warnings()}
        assert ("blocks_outside_logs" in found) == stops
        if stops:
            assert found["blocks_outside_logs"].startswith("4 of 9 analysed blocks were made while the logs of node-2 ")
            assert "4 from block 5 (slot 110) to 8 (slot 170) without 1 (node-2)" in found["blocks_without_hosts"]


def test_nothing_ships_where_a_log_has_slots_and_no_adoption(tmp_path: Path) -> None:
    """As of a node that was set to log its blocks at another severity: it counts in the cluster's size."""
    cluster = of_three_hosts(200, range(200))
    for slot in range(200):
        cluster.check(2, slot)
    with analysed(cluster, tmp_path) as analysis:
        found = {one.kind: one.text for one in analysis.warnings()}
        assert found["blocks_outside_logs"].startswith("9 of 9 analysed blocks were made while the logs of node-2 ")
        assert "without 1 (node-2)" in found["blocks_without_hosts"]


def leading(hosts: int, slots: Sequence[int], unforged: Sequence[int]) -> Cluster:
    """Host 0 leads these slots and makes a block in all but some, which the others adopt; every host has a line of each slot until 120."""
    cluster = Cluster(hosts)
    previous = None
    for number, slot in enumerate(slot for slot in slots if slot not in unforged):
        name = f"block{number}"
        cluster.forge(0, slot, number, name, previous)
        for host in range(1, hosts):
            cluster.observe(host, slot, number, name)
        previous = name
    for slot in unforged:
        cluster.say(0, ts(slot, 1.0), "Forge.Loop.StartLeadershipCheck", kind="TraceStartLeadershipCheck", slot=slot)
        cluster.say(0, ts(slot, 2.0), "Forge.Loop.NodeIsLeader", kind="TraceNodeIsLeader", slot=slot)
    for slot in range(120):
        for host in range(hosts):
            if host > 0 or slot not in slots:
                cluster.check(host, slot)
    return cluster


def lost_leads(analysis: Analysis) -> list[str]:
    return [one.text for one in analysis.warnings() if one.kind == "leads_without_blocks"]


def test_nothing_ships_where_leaders_made_no_block(tmp_path: Path) -> None:
    """As by a node that throws while it makes a block: no metric of blocks shows that, and it was SHIP."""
    with analysed(leading(3, range(5, 100, 10), [25, 65]), tmp_path) as analysis:
        (text,) = lost_leads(analysis)
        assert text.startswith("In 2 of 10 slots that hosts led they made no block, from slot 25 to 65, on node-0: ")
        rows = analysis.relation("leads_without_blocks").to_pylist()
        assert rows == [{"host": "node-0", "slot": 25}, {"host": "node-0", "slot": 65}]
    (kind,) = [one for one in catalogue("cluster").warnings if one.kind == "leads_without_blocks"]
    assert kind.stops


def test_leaders_that_made_their_blocks_are_not_warned_of(tmp_path: Path) -> None:
    with analysed(leading(3, range(5, 100, 10), []), tmp_path) as analysis:
        assert not lost_leads(analysis)


def test_a_lead_at_the_end_of_a_log_and_one_that_is_not_analysed_lose_no_block(tmp_path: Path) -> None:
    """The log ends before the block is made, or the slot is one of those before the load."""
    cluster = leading(2, [5, 35, 65, 105], [5, 105])
    with analysed(cluster, tmp_path, parse_filters(["SlotGEq 10"], "cluster")) as analysis:
        assert not lost_leads(analysis)


def test_a_lead_whose_block_others_have_lost_none(tmp_path: Path) -> None:
    """The forger's log lacks the line of the block, as where the severity of that message leaves it out."""
    cluster = leading(3, [5, 35, 65], [35])
    for host in (1, 2):
        cluster.observe(host, 35, 7, "of node-0")
    with analysed(cluster, tmp_path) as analysis:
        assert not lost_leads(analysis)


def test_one_lost_block_of_many_is_below_the_limit(tmp_path: Path) -> None:
    cluster = Cluster(1)
    previous = None
    for slot in range(0, 300):
        if slot == 100:
            cluster.say(0, ts(slot, 2.0), "Forge.Loop.NodeIsLeader", kind="TraceNodeIsLeader", slot=slot)
        else:
            cluster.forge(0, slot, slot, f"block{slot}", previous)
            previous = f"block{slot}"
    with analysed(cluster, tmp_path) as analysis:
        assert len(analysis.relation("leads_without_blocks")) == 1
        assert not lost_leads(analysis)


def test_a_host_that_was_down_and_caught_up_has_no_hole_in_its_log(tmp_path: Path) -> None:
    """It did adopt these blocks late, and that counts."""
    cluster = of_three_hosts(400, range(100, 300), caught_up_at=300)
    with analysed(cluster, tmp_path) as analysis:
        assert not {one.kind for one in analysis.warnings()} & {"blocks_outside_logs", "blocks_without_hosts"}


def test_a_host_that_logs_blocks_alone_has_no_hole_where_there_is_none_of_them(tmp_path: Path) -> None:
    """Its log ends some seconds before the others', and has minutes without a block: neither stops."""
    cluster = Cluster(3)
    previous = None
    for number, slot in enumerate((10, 110, 210, 240, 245)):
        name = f"block{number}"
        cluster.forge(0, slot, number, name, previous)
        for host in (1, 2) if slot <= 210 else (1,):
            cluster.observe(host, slot, number, name, adopted_ms=470.0)
        previous = name
    for slot in range(250):
        for host in range(2):
            cluster.check(host, slot)
    with analysed(cluster, tmp_path) as analysis:
        kinds = {one.kind for one in analysis.warnings()}
        assert ("blocks_without_hosts" in kinds, "blocks_outside_logs" in kinds) == (True, False)


def test_of_two_samples_of_a_process_in_a_slot_the_last_one_counts(tmp_path: Path) -> None:
    """As where a run ends just after a look: faults are counted from the last sample of the slot before."""
    cluster = Cluster(1)
    for slot in range(4):
        cluster.check(0, slot)
    rows = [(0, 300, 100), (1, 300, 110), (1, 800, 160), (2, 800, 190), (3, 300, 20)]
    usage = pa.Table.from_pylist(
        [
            {"host": "node-0", "ts_ns": ts(slot, ms), "major_faults": faults, "cache_bytes": faults << 20}
            for slot, ms, faults in rows
        ],
        USAGE_SCHEMA,
    )
    here = MeasuredHere(machine_facts(), (0, 3), {}, {}, [], {"node_usage": usage})
    run, _ = ingest(IngestRequest(logs=[str(cluster.write(tmp_path / "logs"))], out=tmp_path / "run"), here=here)
    with Analysis(run) as analysis:
        faults = values(analysis, "major_faults")
        assert values(analysis, "cache_mib") == {(slot, "node-0"): mib for slot, mib in enumerate((100, 160, 190, 20))}
    for condition, slots in ((Filter("SlotLEq", 2), [0, 1, 2]), (Filter("SlotHasLeaders"), [])):
        with Analysis(run, filters=[condition]) as analysis:
            assert [slot for slot, _ in values(analysis, "cache_mib")] == slots, condition
    # Of slot 2, 30 in a second; in slot 3 the counter went down.
    assert faults == {(1, "node-0"): pytest.approx(60 / 1.5), (2, "node-0"): pytest.approx(30.0)}


def test_resources_are_rates_between_samples_and_a_reset_is_left_out(tmp_path: Path) -> None:
    cluster = Cluster(1)
    mib, kib = 1 << 20, 1 << 10
    # Samples at 0.5 s, 1.5 s, 3.5 s, then a restart at 4.5 s, then 5.5 s.
    cluster.resources(
        0, ts(0, 500), CentiCpu=100, Alloc=10 * mib, RSS=100 * mib, GcsMinor=5, FsWr=8 * kib, FsRd=kib, NetWr=kib
    )
    cluster.resources(
        0,
        ts(1, 500),
        CentiCpu=150,
        Alloc=30 * mib,
        RSS=101 * mib,
        GcsMinor=8,
        FsWr=12 * kib,
        FsRd=3 * kib,
        NetWr=7 * kib,
    )
    cluster.resources(
        0,
        ts(3, 500),
        CentiCpu=151,
        Alloc=36 * mib,
        RSS=102 * mib,
        GcsMinor=8,
        FsWr=12 * kib,
        FsRd=13 * kib,
        NetWr=7 * kib,
    )
    cluster.resources(0, ts(4, 500), CentiCpu=10, Alloc=1 * mib, RSS=50 * mib, GcsMinor=1, FsWr=0)
    cluster.resources(0, ts(5, 500), CentiCpu=110, Alloc=2 * mib, RSS=51 * mib, GcsMinor=2, FsWr=1 * kib)
    with analysed(cluster, tmp_path) as analysis:
        one = "node-0"
        # (150 - 100) / 100 s over 1 s; (151 - 150) / 100 s over 2 s; nothing at the restart; 100 / 100 s over 1 s.
        assert values(analysis, "cpu_percent") == {(1, one): 50, (3, one): 0.5, (5, one): 100}
        assert values(analysis, "allocated_mib") == {(1, one): 20, (3, one): 3, (5, one): 1}
        assert values(analysis, "minor_gcs") == {(1, one): 3, (3, one): 0, (5, one): 1}
        assert values(analysis, "fs_written_kib") == {(1, one): 4, (3, one): 0, (5, one): 1}
        assert values(analysis, "fs_read_kib") == {(1, one): 2, (3, one): 5, (5, one): 0}
        assert values(analysis, "net_written_kib") == {(1, one): 6, (3, one): 0, (5, one): 0}
        assert values(analysis, "rss_mib") == {(0, one): 100, (1, one): 101, (3, one): 102, (4, one): 50, (5, one): 51}
        assert "counters_restarted" in [warning.kind for warning in analysis.warnings()]
    with analysed(cluster, tmp_path / "published", published=True) as analysis:
        assert values(analysis, "cpu_percent") == {(1, one): 50, (3, one): 1, (5, one): 100}  # rounded up
        assert values(analysis, "allocated_mib") == {
            (1, one): 20,
            (3, one): 6,
            (5, one): 1,
        }  # a sample's, not a second's


def test_what_a_sample_lacks_is_not_recorded(tmp_path: Path) -> None:
    """Samples without five of the fields; then all of them, and one that lacks what the host read from the network."""
    cluster = Cluster(1)
    mib, kib = 1 << 20, 1 << 10
    needed = dict.fromkeys(
        ("CentiGC", "CentiMut", "GcsMajor", "GcsMinor", "Alloc", "Live", "RSS", "CentiBlkIO", "Threads"), 1
    )
    every = {"Heap": 3 * mib, "NetRd": 8 * kib, "NetWr": 4 * kib, "FsRd": 2 * kib, "FsWr": kib}
    for slot, more in enumerate([{}, {}, every, {**every, "NetRd": 10 * kib}, {"Heap": mib}, every]):
        values_of = {"CentiCpu": 10 * slot, **needed, "GcsMinor": slot, **more}
        cluster.say(0, ts(slot, 500), "Resources", kind="ResourceStats", **values_of)
    with analysed(cluster, tmp_path) as analysis:
        one = "node-0"
        assert values(analysis, "heap_mib") == {(2, one): 3, (3, one): 3, (4, one): 1, (5, one): 3}
        assert values(analysis, "net_read_kib") == {(3, one): 2}
        assert values(analysis, "fs_written_kib") == {(3, one): 0}
        assert values(analysis, "cpu_percent") == {(slot, one): 10 for slot in range(1, 6)}
        assert "counters_restarted" not in [warning.kind for warning in analysis.warnings()]
        held = analysis.query("SELECT net_read_bytes FROM resources ORDER BY ts_ns")["net_read_bytes"].to_pylist()
        assert held == [None, None, 8 * kib, 10 * kib, None, 8 * kib]


def test_a_host_without_a_forge_loop_misses_no_slots(tmp_path: Path) -> None:
    """Two hosts that look whether they lead, of which one misses a slot, and a relay, of which there are samples of resources."""
    cluster = Cluster(3)
    for slot in range(20):
        for host in range(3):
            cluster.resources(host, ts(slot, 500), CentiCpu=slot)
        cluster.check(0, slot)
        if slot != 7:
            cluster.check(1, slot)
    with analysed(cluster, tmp_path) as analysis:
        starts = values(analysis, "forge_starts")
        assert {host for _, host in starts} == {"node-0", "node-1"}
        assert [key for key, count in starts.items() if count != 1] == [(7, "node-1")]


def test_busy_spans_count_their_slots(tmp_path: Path) -> None:
    cluster = Cluster(1, epoch_slots=20)
    used, total = {3: 90, 7: 85, 8: 100, 9: 99, 21: 95, 22: 95, 23: 95, 24: 95, 25: 95}, 0
    for slot in range(30):
        total += used.get(slot, 10)
        cluster.resources(0, ts(slot, 500), CentiCpu=total)
    with analysed(cluster, tmp_path) as analysis:
        # One slot alone is 1 long; 7 to 9 is 3; 21 to 25 begins in slot 1 of epoch 1 and goes on beyond its slot 3.
        assert values(analysis, "busy_span_slots") == {(3, "node-0"): 1, (7, "node-0"): 3, (21, "node-0"): 5}
        assert values(analysis, "epoch_span_slots") == {(21, "node-0"): 5}
        # No host's forge loop runs: no log tells that this node has none.
        assert values(analysis, "forge_starts") == {(slot, "node-0"): 0 for slot in range(30)}
    with analysed(cluster, tmp_path / "published", published=True) as analysis:
        assert values(analysis, "busy_span_slots") == {(3, "node-0"): 0, (7, "node-0"): 2, (21, "node-0"): 4}
        assert values(analysis, "epoch_span_slots") == {(21, "node-0"): 5}


def busy(cluster: Cluster, slots: set[int], last: int) -> Cluster:
    """A host that is busy in some slots, sampled in the middle of each slot."""
    total = 0
    for slot in range(last + 1):
        total += 95 if slot in slots else 10
        cluster.resources(0, ts(slot, 500), CentiCpu=total)
    return cluster


def test_spans_at_a_boundary_end_after_its_epochs_fourth_slot(tmp_path: Path) -> None:
    """Spans that come from the epoch before, and end in its slots 1, 3 and 4; and one that begins in slot 2."""
    slots = {*range(12, 22), *range(35, 44), *range(58, 65), *range(82, 85)}
    with analysed(busy(Cluster(1, epoch_slots=20), slots, 90), tmp_path) as analysis:
        assert values(analysis, "busy_span_slots") == {
            (begin, "node-0"): n for begin, n in ((12, 10), (35, 9), (58, 7), (82, 3))
        }
        assert values(analysis, "epoch_span_slots") == {(58, "node-0"): 7, (82, "node-0"): 3}
    with analysed(busy(Cluster(1, epoch_slots=20), slots, 90), tmp_path / "published", published=True) as analysis:
        assert values(analysis, "epoch_span_slots") == {(82, "node-0"): 3}  # it takes those that begin there


def test_a_sample_stands_for_the_slots_since_the_one_before(tmp_path: Path) -> None:
    short, late = Cluster(1), Cluster(1)
    short.genesis["slotLength"] = 0.2
    for second in range(31):
        short.resources(0, ts(second, 500), CentiCpu=100 * second)
    for place in range(600):
        # Every 1.0012 s: now and then no sample falls into a slot.
        late.resources(0, ts(0, 500 + 1001.2 * place), CentiCpu=100 * place)
    with analysed(short, tmp_path / "short") as analysis:
        assert values(analysis, "busy_span_slots") == {(3, "node-0"): 150}
    with analysed(late, tmp_path / "late") as analysis:
        assert len(values(analysis, "cpu_percent")) == 599
        assert values(analysis, "busy_span_slots") == {(1, "node-0"): 600}


def test_the_published_spans_bridge_what_filters_leave_out(tmp_path: Path) -> None:
    cluster = busy(Cluster(1, epoch_slots=20), set(range(12, 31)), 50)
    with analysed(cluster, tmp_path, [Filter("EpSlotGEq", 3)], published=True) as analysis:
        assert values(analysis, "busy_span_slots") == {(12, "node-0"): 18}
        assert values(analysis, "epoch_span_slots") == {}
    with analysed(cluster, tmp_path / "ours", [Filter("EpSlotGEq", 3)]) as analysis:
        assert values(analysis, "busy_span_slots") == {(12, "node-0"): 8, (23, "node-0"): 8}


def test_filters_say_which_blocks_and_slots_count_and_why_not(tmp_path: Path) -> None:
    cluster = Cluster(2, epoch_slots=100)
    previous = None
    for number, (slot, size) in enumerate([(10, 88_000), (110, 88_000), (130, 1_000), (150, 88_000), (170, 88_000)]):
        name = f"b{number}"
        cluster.forge(0, slot, number, name, previous, size=size)
        if number != 3:
            cluster.observe(1, slot, number, name)
        previous = name
    for slot in range(180):
        cluster.check(1, slot)
    filters = [Filter("EpochGEq", 1), Filter("BFullnessGEq", 0.9), Filter("BMinimumAdoptions", 1)]
    with analysed(cluster, tmp_path, filters) as analysis:
        why = {row["block_no"]: row["rejected_by"] for row in analysis.relation("blocks").to_pylist()}
        assert why == {0: "EpochGEq 1", 1: None, 2: "BFullnessGEq 0.9", 3: "BMinimumAdoptions 1"}
        # Slots are only filtered by what is about slots: 100 to 179 of node-1, and of node-0 those up to its last, 170.
        slots = [slot for slot, host in values(analysis, "forge_starts") if host == "node-1"]
        assert (min(slots), max(slots), len(slots)) == (100, 179, 80)


def test_every_condition_at_its_ends(tmp_path: Path) -> None:
    """Epochs of 2,000 slots, of which a safe interval has 40 / 0.05 = 800; half of the largest block is 45,056 bytes."""
    cluster = Cluster(2, epoch_slots=2_000)
    previous = None
    for number, (slot, size) in enumerate(
        [(799, 45_055), (800, 45_056), (1_999, 45_057), (2_000, 1_000), (2_001, 90_000)]
    ):
        name = f"b{number}"
        # The forger of block 2 doesn't say that it leads; block 4 is offered before it is forged.
        cluster.forge(
            0,
            slot,
            number,
            name,
            previous,
            size=size,
            announced_ms=59.5 if number == 4 else 61.0,
            steps_ms={"leading_ms": None} if number == 2 else {},
        )
        if number != 2:
            cluster.observe(1, slot, number, name, announced_ms=399.0 if number == 1 else 401.0)
        previous = name
    cluster.forge(0, 2_100, 5, "tip", previous)
    for slot in (0, 2_100):
        cluster.check(1, slot)
    for place, slot in enumerate((799, 800, 801)):
        cluster.resources(0, ts(slot, 500), CentiCpu=10 * place)
    with analysed(cluster, tmp_path) as analysis:
        run = analysis.run
    # The blocks that pass, and how many of the 2,101 slots of the host that never leads.
    expected: dict[Filter, tuple[set[int], int]] = {
        Filter("BFullnessGEq", 0.5): ({2, 4}, 2_101),  # the established tool leaves out what is as full
        Filter("BFullnessLEq", 0.5): ({0, 3}, 2_101),
        Filter("BSizeGEq", 45_056): ({1, 2, 4}, 2_101),
        Filter("BSizeLEq", 45_056): ({0, 1, 3}, 2_101),
        Filter("BMinimumAdoptions", 1): ({0, 1, 3, 4}, 2_101),
        Filter("BNonNegatives"): ({0, 2, 3}, 2_101),
        Filter("SlotGEq", 800): ({1, 2, 3, 4}, 1_301),
        Filter("SlotLEq", 800): ({0, 1}, 801),
        Filter("EpochGEq", 1): ({3, 4}, 101),
        Filter("EpochLEq", 0): ({0, 1, 2}, 2_000),
        Filter("EpochSafeIntGEq", 1): ({1, 2}, 1_200),
        Filter("EpochSafeIntLEq", 1): ({0, 1, 3, 4}, 1_701),
        Filter("EpSlotGEq", 800): ({1, 2}, 1_200),
        Filter("EpSlotLEq", 0): ({3}, 2),
        Filter("SlotHasLeaders"): ({0, 1, 3, 4}, 0),
    }
    for condition, (blocks, slots) in expected.items():
        with Analysis(run, filters=[condition]) as analysis:
            assert {number for (number,) in values(analysis, "block_bytes")} == blocks, condition
            starts = values(analysis, "forge_starts")
            assert sum(host == "node-1" for _, host in starts) == slots, condition
            if condition.tag == "SlotHasLeaders":
                assert [slot for slot, host in starts if host == "node-0"] == [799, 800, 2_000, 2_001, 2_100]
                assert values(analysis, "cpu_percent") == {(800, "node-0"): 10}


def test_the_profile_of_a_run_says_what_is_analysed(tmp_path: Path) -> None:
    logs = plain().write(
        tmp_path / "logs",
        filters=[
            {"tag": "CSlot", "contents": {"tag": "SlotGEq", "contents": 20}},
            {"tag": "CBlock", "contents": {"tag": "BUnitaryChainDelta"}},
        ],
    )
    run, _ = ingest(IngestRequest(logs=[str(logs)], out=tmp_path / "run"))
    with Analysis(run) as analysis:
        assert [str(one) for one in analysis.filters] == ["SlotGEq 20", "BUnitaryChainDelta"]
        assert set(values(analysis, "block_bytes")) == {(1,), (2,)}


def test_the_manifests_facts(tmp_path: Path) -> None:
    cluster = Cluster(2)
    cluster.forge(0, 10, 0, "root", None)  # 12 lines, from 10.001 to 10.120
    cluster.forge(0, 30, 1, "tip", "root")
    for slot in (10, 20, 40):
        cluster.check(1, slot, started_ms=500)  # two lines each, from 10.002 to 40.5
    cluster.say(1, ts(20), "Net.PeerSelection.Counters", kind="PeerSelectionCounters")
    with analysed(cluster, tmp_path, [Filter("SlotGEq", 20)]) as analysis:
        facts = dict(analysis.facts())
    assert facts["machines"] == "2"
    assert facts["filters"] == "SlotGEq 20"
    assert facts["log objects emitted per host"] == "15.5"  # (24 + 7) / 2
    assert facts["log objects analysed per host"] == "15.0"  # (24 + 6) / 2
    assert facts["total log objects analysed"] == "30"
    assert facts["host run time, s"] == "25.3"  # (20.119 + 30.498) / 2
    assert facts["host log line rate, Hz"] == "0.72"  # (24 / 20 + 7 / 30) / 2: of whole seconds
    assert facts["run time, s"] == "30"  # 10.001 to 40.5
    assert facts["analysed run duration, s"] == "20"  # slots 20 to 40
    assert facts["run time efficiency"] == "0.67"
    assert facts["node start spread, s"] == "0.0010"
    assert facts["node stop spread, s"] == "10.3800"  # 40.5 less 30.12
    assert facts["slots analysed"] == "15"  # (30 - 20 + 40 - 20) / 2
    assert (facts["blocks analysed"], facts["blocks rejected"]) == ("0", "1")
