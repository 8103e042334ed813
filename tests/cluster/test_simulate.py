"""The simulator as its user calls it: profiles, run directories, and how near it comes to what was published."""

import json
import statistics
import tomllib
from pathlib import Path

import pytest

from slotmark.benches.cluster.from_tables import predict_column, settings_of
from slotmark.benches.cluster.simulating.simulate import (
    DERIVED,
    END_TO_END_ROWS,
    FITTED,
    HELD_OUT,
    LIVE,
    PEER_ROWS,
    load_profile,
    predict,
    shipped_profiles,
    simulate,
)
from slotmark.errors import SimulationError
from tests.conftest import quietly


def test_every_shipped_profile_makes_blocks() -> None:
    assert set(shipped_profiles()) == {*FITTED, *HELD_OUT, *DERIVED, *LIVE}
    for name in shipped_profiles():
        tables = predict(load_profile(name, ["run.slots=17000"]), [1], quietly)
        assert tables.blocks > 10


@pytest.mark.parametrize("name", FITTED)
def test_the_fitted_columns_are_met_within_three_and_five_percent(name: str) -> None:
    tables = predict(load_profile(name), range(1, 6), quietly)
    for rows, allowed in ((END_TO_END_ROWS, 0.03), (PEER_ROWS, 0.05)):
        errors = {metric: tables.row(metric).relative_error for metric in rows}
        assert all(error is not None and abs(error) <= allowed for error in errors.values()), errors


def test_a_slower_ledger_tick_makes_every_centile_later_by_as_much() -> None:
    was = predict(load_profile("value-only-10.5"), [1], quietly)
    now = predict(load_profile("value-only-10.5", ["ledger_tick.mean=31.26ms"]), [1], quietly)
    for metric in END_TO_END_ROWS:
        before, after = was.row(metric).predicted, now.row(metric).predicted
        assert before is not None
        assert after is not None
        assert after - before == pytest.approx(0.010, abs=0.002), metric


def test_a_run_directory_holds_what_the_workbench_leaves(tmp_path: Path) -> None:
    out = tmp_path / "run"
    profile = load_profile("value-only-10.5", ["run.slots=120", "hosts=6", "pools=6"])
    facts = simulate(profile, 3, out, quietly)
    assert facts.hosts == 6
    logs = sorted(out.glob("node-*/stdout"))
    assert len(logs) == 6
    lines = [line for log in logs for line in log.read_text().splitlines()]
    assert len(lines) == facts.lines
    assert sum(log.stat().st_size for log in logs) == facts.bytes
    for line in lines:
        assert list(json.loads(line)) == ["at", "ns", "data", "sev", "thread", "host"]
    genesis = json.loads((out / "genesis/genesis.shelley.json").read_text())
    assert (genesis["systemStart"], genesis["slotLength"], genesis["epochLength"]) == (
        "2025-08-01T16:54:49Z",
        1.0,
        8000,
    )
    assert genesis["protocolParams"]["maxBlockBodySize"] == 90112
    meta = json.loads((out / "meta.json").read_text())["meta"]
    assert meta["profile_content"]["generator"]["tps"] == 12.0
    assert meta["manifest"]["cardano-node"]["commit"] == "8db07f6"
    truth = [json.loads(line) for line in (out / "truth.jsonl").read_text().splitlines()]
    forged = [line for line in truth if line["kind"] == "block"]
    assert len(forged) == facts.blocks_forged
    assert len([line for line in truth if line["kind"] == "observation"]) == 6 * facts.blocks_forged
    assert sum(line["on_chain"] for line in forged) == facts.blocks_chained


def test_a_profile_extends_one_beside_it_or_a_shipped_one(tmp_path: Path) -> None:
    (tmp_path / "mine.toml").write_text('extends = "theirs"\n[forging]\nledger_tick = { mean = "40ms" }\n')
    (tmp_path / "theirs.toml").write_text('extends = "value-only-10.5"\nname = "theirs"\n')
    text = load_profile(tmp_path / "mine.toml")
    assert 'name = "theirs"' in text
    assert 'mean = "40ms"' in text


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('extends = "mine"\n', "extends itself"),
        ('extends = "nowhere"\n', "nowhere"),
        ("[forging\n", "mend the TOML"),
        ("x = " + "[" * 200_000, "nested too deep; mend the TOML"),
        ("x = " + "{a=" * 200_000, "nested too deep; mend the TOML"),
        ('extends = "value-only-10.5"\n[forging]\nledger_tick = { mean = 40 }\n', "forging.ledger_tick.mean"),
    ],
)
def test_a_profile_that_cannot_be_read_is_named(text: str, said: str, tmp_path: Path) -> None:
    (tmp_path / "mine.toml").write_text(text)
    with pytest.raises(SimulationError, match=said):
        load_profile(tmp_path / "mine.toml")
    with pytest.raises(SimulationError, match=r"mine\.toml"):
        load_profile(tmp_path / "mine.toml")


def test_what_profiles_share_is_no_profile_by_itself() -> None:
    with pytest.raises(
        SimulationError, match=r"value-only: only what other profiles share; name one of value-only-10\.2,"
    ):
        load_profile("value-only")


def test_a_directory_that_exists_is_left_alone(tmp_path: Path) -> None:
    with pytest.raises(SimulationError, match="exists already"):
        simulate(load_profile("value-only-10.5", ["run.slots=5"]), 1, tmp_path, quietly)
    assert not list(tmp_path.iterdir())


ROWS = {
    "Started forge loop iteration": 0.00175,
    "Acquired block context": 0.00006,
    "Acquired ledger state": 0.00011,
    "Acquired ledger view": 0.00002,
    "Leadership check duration": 0.00044,
    "Ledger ticking": 0.02126,
    "Mempool snapshotting": 0.04555,
    "Leadership to forged": 0.0007,
    "Forged to announced": 0.0008,
    "Forged to self-adopted": 0.069,
    "Notice to fetch request": 0.00129,
    "Fetched to announced": 0.00102,
    "Fetched to adopted": 0.07007,
    "Block size": 88962.0,
    "0.50 adoption": 0.61001,
}
"""The rows of the published column that value-only-10.5 was made from."""


def test_a_column_makes_the_profile_that_was_made_from_it_by_hand() -> None:
    made = tomllib.loads(load_profile("value-only-10.5", settings_of(ROWS, scripts=False)))
    by_hand = tomllib.loads(load_profile("value-only-10.5"))
    for table in ("forging", "peer", "network", "tcp"):
        assert made[table] == by_hand[table]
    assert made["workload"]["block_size"] == by_hand["workload"]["block_size"]


def test_a_slower_stage_in_a_column_makes_its_prediction_later_by_as_much() -> None:
    slower = ROWS | {"Ledger ticking": 0.03126}
    was, now = (predict_column(rows, [1], quietly, scripts=False) for rows in (ROWS, slower))
    for metric in END_TO_END_ROWS:
        before, after = was.row(metric).predicted, now.row(metric).predicted
        assert before is not None
        assert after is not None
        assert after - before == pytest.approx(0.010, abs=0.002), metric
    assert was.row("0.50 adoption").published == 0.61001
    assert was.row("0.80 adoption").published is None


def test_a_column_without_a_stage_makes_no_profile() -> None:
    with pytest.raises(SimulationError, match="the tables lack Ledger ticking, Block size"):
        settings_of({row: 1.0 for row in ROWS if row not in ("Ledger ticking", "Block size")}, scripts=True)


def test_a_standard_error_of_several_seeds_is_over_seeds() -> None:
    text = load_profile("value-only-10.5", ["run.slots=2000", "epoch_slots=100", "hosts=9", "pools=9"])
    alone = [predict(text, [seed], quietly) for seed in (1, 2, 3)]
    together = predict(text, [1, 2, 3], quietly)
    for place, row in enumerate(together.rows):
        values = [one.rows[place].predicted or 0.0 for one in alone]
        assert row.predicted == pytest.approx(statistics.mean(values))
        assert row.standard_error == pytest.approx(statistics.stdev(values) / 3**0.5, abs=1e-12)


def test_a_standard_error_of_one_seed_counts_the_hosts_of_a_block_as_one() -> None:
    """Stages of the same length for all hosts and blocks differ by the fetching of each block alone, which all its hosts share."""
    settings = ["run.slots=3000", "epoch_slots=3000", "host_spread=0.0", "first_epoch=0"]
    of_seeds = [
        predict(load_profile("value-only-10.5", settings), [seed], quietly).row("Fetch duration")
        for seed in range(1, 31)
    ]
    between = statistics.stdev(row.predicted or 0 for row in of_seeds)
    within = statistics.mean(row.standard_error or 0 for row in of_seeds)
    assert within == pytest.approx(between, rel=0.4)
