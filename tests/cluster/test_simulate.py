"""The simulator as its user calls it: profiles, run directories, and how near it comes to what was published."""

import json
from pathlib import Path

import pytest

from slotmark.benches.cluster.simulate import (
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


def quietly(done: int, total: int) -> None:
    assert done <= total


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
