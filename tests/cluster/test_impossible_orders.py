"""Orders that can't be, as a header that a host has before it was forged, are warned of with their hosts and slots; others are not."""

from pathlib import Path

from slotmark.benches.cluster.ingesting.ingest import ingest
from slotmark.benches.cluster.requests import IngestRequest
from slotmark.benches.cluster.simulating.direct import simulate_direct
from slotmark.benches.cluster.simulating.simulate import load_profile
from slotmark.compare import alone, compare
from slotmark.metrics import Analysis
from slotmark.run import Run
from tests.cluster.made_up_logs import Cluster


def run_of(folder: Path, name: str, behind_ms: float = 0.0, leading_ms: float = 2.0) -> Run:
    """Two hosts and ten blocks; the second host's clock is some ms behind, and in slot 210 it checks leadership at this time."""
    cluster = Cluster(2)
    for number in range(10):
        slot, block = 20 * number + 10, f"{name}-{number}"
        cluster.forge(0, slot, number, block, f"{name}-{number - 1}" if number else None)
        noticed, requested, fetched, announced, sending, adopted = (
            100.0 + 50 * place - behind_ms for place in range(6)
        )
        cluster.observe(
            1,
            slot,
            number,
            block,
            noticed_ms=noticed,
            requested_ms=requested,
            fetched_ms=fetched,
            announced_ms=announced,
            sending_ms=sending,
            adopted_ms=adopted,
        )
    cluster.check(1, 210, started_ms=1.0, leading_ms=leading_ms)
    return ingest(IngestRequest(logs=[str(cluster.write(folder / f"{name}-logs"))], out=folder / name))[0]


def warned_of(run: Run) -> list[str]:
    with Analysis(run) as analysis:
        return [one.text for one in analysis.warnings() if one.kind == "impossible_orders"]


def test_a_header_before_its_block_is_told_with_hosts_slots_and_how_much(tmp_path: Path) -> None:
    run = run_of(tmp_path, "skewed", behind_ms=80.0)
    (text,) = warned_of(run)
    assert (
        "header received before its block was forged (10 times, by as much as 40.00 ms, first in slot 10 on node-1, "
        "line of 00:00:10.020000000 before that of 00:00:10.060000000 on node-0)" in text
    )
    assert "Hosts: node-1." in text
    with Analysis(run) as analysis:
        rows = analysis.relation("impossible_orders").to_pylist()
    assert [row["slot"] for row in rows] == list(range(10, 210, 20))
    assert {(row["host"], row["early_ns"]) for row in rows} == {("node-1", 40_000_000)}


def test_a_duration_below_zero_is_told_of(tmp_path: Path) -> None:
    run = run_of(tmp_path, "odd", behind_ms=400.0, leading_ms=0.5)
    (text,) = warned_of(run)
    assert "leadership checked before the ledger view was acquired (1 times" in text
    with Analysis(run) as analysis:
        durations = [one.id for one in analysis.catalogue.metrics if one.unit == "s"]
        negative = [one for one in durations if (analysis.samples(one).table["value"].to_numpy() < 0).any()]
        first = {row["step"]: row["slot"] for row in analysis.relation("impossible_orders").to_pylist()}
    assert negative == ["host_adoption", "slot_leading"]
    assert first["leadership checked before the ledger view was acquired"] == 210


def test_it_stands_at_the_side_that_has_it(tmp_path: Path) -> None:
    good, bad = run_of(tmp_path, "good"), run_of(tmp_path, "bad", behind_ms=80.0)
    kinds = [{warning.kind for warning in side.warnings} for side in compare([good, bad]).sides]
    assert "impossible_orders" not in kinds[0]
    assert "impossible_orders" in kinds[1]
    assert alone(good)


def test_what_is_in_order_is_not_warned_of(tmp_path: Path) -> None:
    assert warned_of(run_of(tmp_path, "plain")) == []
    profile = load_profile("value-only-10.5", ["run.slots=700", "epoch_slots=100", "hosts=6", "pools=6"])
    run, _ = simulate_direct(profile, 1, tmp_path / "simulated", lambda _done, _total: None)
    assert warned_of(run) == []
