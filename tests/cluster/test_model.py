"""Every parameter of a profile is in the simulator's model, and then it changes a simulation, or it is refused where it is set."""

import hashlib
import json
import tempfile
import tomllib
from pathlib import Path
from typing import Any

import pytest

from slotmark import _core
from slotmark.benches.cluster.simulating.direct import simulate_direct
from slotmark.benches.cluster.simulating.model import PREDICTED, SIMULATED, Reach, differing, reach, refuse_outside
from slotmark.benches.cluster.simulating.predict import predict_change
from slotmark.benches.cluster.simulating.simulate import load_profile, parameters
from slotmark.errors import SimulationError
from tests.conftest import quietly, slotmark

PROFILE = "value-only-10.5"

# All that only shows at times happens here: losses, faults, battles, blocks that aren't full, windows that are small.
EVENTFUL = (
    "run.slots=1200",
    "epoch_slots=150",
    "network.hosts=9",
    "network.pools=8",
    "network.loss=0.02",
    "tcp.warm_share=0.3",
    "tcp.max_window=60kB",
    "active_slot_coefficient=0.25",
    "workload.refill_tps=60.0",
    "workload.tps=40.0",
    "tx_count=60000",
    "max_fullness=0.999",
    "min_fullness=0.3",
    "max_block_body_size=89kB",
    "missed_slots=0.05",
    "network.stake=[1,2,3,4,5,6,7,8]",
    "live.funds=100",
    'fault=[{kind="host-down", host=3, from=100, until=298}, {kind="link-cut", between=[0, 3], from=310, until=330},'
    '{kind="host-slow", host=1, from=320, until=500, factor=3.0}, {kind="partition", hosts=[0, 1, 2], from=400, until=420},'
    '{kind="clock-skew", host=5, ahead_ms=40.0}]',
)

CHANGED = {
    "run.system_start": "2026-08-01T16:54:49Z",
    "network.pools": "9",
    "network.stake": "[8,7,6,5,4,3,2,1]",
    "network.regions": '["us-east-1", "eu-central-1", "ap-southeast-2"]',
    "workload.tx_count": "9000",
    "workload.block_size": "60kB",
    "peer.concurrency": "1",
    "peer.max_range": "1",
    "peer.vrf_tie_slots": "0",
    "published.column": '"other"',
    "published.min_fullness": "0.9",
}
"""Values that don't come from halving or doubling."""

WHOLE = {"network.topology.kind": 'network.topology={kind="complete"}'}
"""Settings of what is changed as a whole."""


def changed(name: str, value: Any) -> str:
    """A setting that gives a parameter another value."""
    if name in WHOLE:
        return WHOLE[name]
    if name in CHANGED:
        return f"{name}={CHANGED[name]}"
    if name == "fault":
        return "fault=[]"
    if isinstance(value, list):
        return f"{name}={json.dumps(value[::-1])}"
    if isinstance(value, bool):
        return f"{name}={str(not value).lower()}"
    if isinstance(value, int):
        return f"{name}={value * 2 or 1}"
    if isinstance(value, float):
        return f"{name}={value / 2 or 0.1}"
    quantity = _core.quantity(value)
    if quantity is not None and quantity[1]:
        return f"{name}={quantity[0] * 1.5 or 1}{quantity[1]}"
    return f'{name}="other"'


def predicted(text: str) -> str:
    return _core.simulate_tables(text, 1, quietly)


def logged(text: str) -> dict[str, str]:
    """The digest of each table of a simulated run."""
    with tempfile.TemporaryDirectory() as folder:
        tables, description = Path(folder) / "tables", Path(folder) / "description"
        tables.mkdir()
        description.mkdir()
        _core.simulate_direct(text, 1, "run", str(tables), str(description), 1, quietly)
        return {
            str(path.relative_to(tables)): hashlib.sha256(path.read_bytes()).hexdigest()
            for path in sorted(tables.rglob("*.parquet"))
        }


def test_every_parameter_changes_what_the_model_says_that_it_does_and_the_others_are_refused() -> None:
    text = load_profile(PROFILE, EVENTFUL)
    before, logs_before = predicted(text), logged(text)
    assert json.loads(before)["blocks"] > 10
    wrong: list[str] = []
    reached = set()
    # Rows of the published column have names with dots, which no setting can name; they only stand beside what is predicted.
    names = {
        name: value
        for name, value in parameters(tomllib.loads(text)).items()
        if "published.rows" not in name and not name.startswith("fault")
    }
    names["fault"] = []
    for name, value in names.items():
        kind = reach(name)
        reached.add(kind)
        setting = changed(name, value)
        # A ninth pool without a stake is none, so it gets one; two pairs of regions change places, so that each pair has one entry.
        more = ["network.stake=[1,2,3,4,5,6,7,8,9]"] if name == "network.pools" else []
        if name.startswith("network.rtt") and name.endswith("between"):
            place = int(name[len("network.rtt[")])
            next_place = (place + 1) % 6
            setting = f"{name}={json.dumps(names[f'network.rtt[{next_place}].between'])}"
            more = [f"network.rtt[{next_place}].between={json.dumps(value)}"]
        other = load_profile(PROFILE, [*EVENTFUL, setting, *more])
        moves = predicted(other) != before
        if moves != (kind is Reach.blocks):
            wrong.append(f"{setting}: {'moves' if moves else 'moves no'} block and is listed as {kind.value}")
        if kind is Reach.logs and logged(other) == logs_before:
            wrong.append(f"{setting}: changes no log and is listed as {kind.value}")
        for taken in (PREDICTED, SIMULATED):
            try:
                refuse_outside(differing(text, other), text, taken)
                refused = False
            except SimulationError as error:
                refused = True
                if name not in str(error) or "\n" in str(error):
                    wrong.append(f"{setting}: {error}")
            if refused is (kind in taken):
                wrong.append(f"{setting}: {'refused' if refused else 'taken'}, listed as {kind.value}")
    assert not wrong, "\n".join(wrong)
    assert reached == set(Reach)


def test_a_parameter_that_nothing_lists_is_not_in_the_model() -> None:
    assert reach("workload.something_new") is Reach.nothing


@pytest.mark.parametrize(
    "setting",
    [
        "utxo_entries=40000000",
        "delegators=5",
        "dreps=5",
        "payload=1kB",
        "workload.inputs=9",
        'script="Loop"',
    ],
)
def test_what_the_model_lacks_is_refused_in_a_line_that_names_what_it_has(setting: str) -> None:
    done = slotmark("predict", PROFILE, "--set", setting, "--seeds", "1")
    assert done.returncode == 2
    (line,) = done.stderr.splitlines()
    assert setting.partition("=")[0] in line
    assert "In the model are" in line
    assert "workload (tps, tx_count, tx_size, block_size" in line
    assert done.stdout == ""


def test_a_sweep_of_what_the_model_lacks_is_refused() -> None:
    done = slotmark("predict", PROFILE, "--sweep", "utxo_entries=1000..4000", "--seeds", "1")
    assert (done.returncode, "not in the model" in done.stderr) == (2, True)


def test_simulate_refuses_what_would_change_nothing_and_takes_what_logs_show(tmp_path: Path) -> None:
    done = slotmark("simulate", PROFILE, "--set", "dreps=5", "--slots", "50", "-o", tmp_path / "run")
    assert (done.returncode, "genesis.dreps: not in the model" in done.stderr) == (2, True)
    assert not (tmp_path / "run").exists()
    small = ("--slots", "20", "--set", "network.hosts=2", "--set", "network.pools=2")
    done = slotmark("simulate", PROFILE, "--set", "resources.rss=1GB", *small, "-o", tmp_path / "run")
    assert done.returncode == 0, done.stderr


def test_profiles_that_differ_in_what_the_model_lacks_are_predicted_with_a_warning(tmp_path: Path) -> None:
    rest = "[run]\nslots = 700\n[network]\nhosts = 6\npools = 6\n"
    base = tmp_path / "base.toml"
    base.write_text(f'extends = "{PROFILE}"\nname = "base"\n[genesis]\nepoch_slots = 100\n{rest}')
    only, both = tmp_path / "only.toml", tmp_path / "both.toml"
    only.write_text('extends = "base"\nname = "only"\n[genesis]\nutxo_entries = 40000000\n')
    both.write_text(
        'extends = "base"\nname = "both"\n[genesis]\nutxo_entries = 40000000\n[forging]\nledger_tick = { mean = "60ms" }\n'
    )
    with pytest.raises(SimulationError, match=r"changes nothing of it that moves a block.*genesis\.utxo_entries"):
        predict_change(only, [], [1], tmp_path / "0", quietly, base)
    beside, changed_run = predict_change(both, [], [1], tmp_path / "1", quietly, base)
    assert not beside.manifest.warnings
    (warning,) = changed_run.manifest.warnings
    assert (warning.kind, "differs from base in genesis.utxo_entries" in warning.text) == ("not_in_model", True)
    (alone,) = predict_change(only, [], [1], tmp_path / "2", quietly)
    assert [one.kind for one in alone.manifest.warnings] == ["not_in_model"]
    (usual,) = predict_change(base, [], [1], tmp_path / "3", quietly)
    assert not usual.manifest.warnings
    predicted_alone = slotmark("predict", only, "--seeds", "1").stdout
    assert "which the simulator's model doesn't have" in " ".join(predicted_alone.split())


def test_a_load_goes_by_the_size_of_transactions_wherever_that_is_set() -> None:
    settings = ("load=4448B/s", "tx_size=1112B")
    found = {
        parameters(tomllib.loads(load_profile("value-only-5", order)))["workload.tps"]
        for order in (settings, settings[::-1])
    }
    assert found == {4.0}


@pytest.mark.parametrize(
    ("setting", "named"),
    [
        ("ledger_tick.sigma=nan", "forging.ledger_tick.sigma = NaN"),
        ("ledger_tick.sigma=-1.0", "forging.ledger_tick.sigma = -1"),
        ("peer.adopt.sigma=1000.0", "peer.adopt.sigma = 1000"),
        ("host_spread=nan", "peer.host_spread = NaN"),
        ("peer.adopt.mean=4000000h", "peer.adopt.mean"),
        ("rtt[0].mean=2h", "network.rtt = 7200s"),
        ("epoch_boundary=2h", "forging.epoch_boundary = 7200s"),
        ("idle_half_life_rtos=-1.0", "tcp.idle_half_life_rtos = -1"),
        ("tcp.growth=inf", "tcp.growth"),
        ("max_window=5kB", "tcp.max_window = 5kB"),
        ("initial_window=9223372036854775807", "tcp.max_window"),
        ("gc_percent=nan", "resources.gc_percent = NaN"),
        ("resources.alloc=2000GB", "resources.alloc = 2000GB"),
        ('fault=[{kind="host-slow", host=1, from=1, until=2, factor=1e300}]', "times as slow"),
    ],
)
def test_a_value_that_no_cluster_has_is_refused_in_a_line(setting: str, named: str) -> None:
    with pytest.raises(SimulationError) as refused:
        load_profile("value-only-5", [setting])
    assert named in str(refused.value)
    assert "expected" in str(refused.value)
    assert "\n" not in str(refused.value)


def test_bodies_are_not_limited_to_less_than_full_blocks_have() -> None:
    with pytest.raises(
        SimulationError, match=r"max_block_body_size = 5kB: expected 16\.384kB, workload\.block_size, or more"
    ):
        load_profile("value-only-5", ["max_block_body_size=5kB"])
    load_profile("value-only-5", ["max_block_body_size=5kB", "block_size=5kB"])
    load_profile("value-only-5", ["block_size=180kB"])


def test_a_slow_host_is_slow_in_all_slots_of_its_fault_and_in_no_other(tmp_path: Path) -> None:
    first, last = 210, 390
    stages = [
        f"forging.{stage}={{mean='{mean}ms', sigma=0.0}}" for stage, mean in (("started", 2), ("block_context", 10))
    ]
    fault = f'fault=[{{kind="host-slow", host=1, from={first}, until={last}, factor=4}}]'
    run, _ = simulate_direct(
        load_profile("value-only-5", ["run.slots=600", "host_spread=0.0", *stages, fault]), 1, tmp_path / "run", quietly
    )
    rows = [row for row in run.table("truth_slots").to_pylist() if row["started_ns"] is not None]
    assert {row["leads"] for row in rows if row["host"] == "node-1" and first <= row["slot"] < last} == {0, 1}
    for row in rows:
        factor = 4 if row["host"] == "node-1" and first <= row["slot"] < last else 1
        assert row["started_ns"] - row["slot"] * 10**9 == factor * 2_000_000, row
        assert row["block_context_ns"] - row["started_ns"] == factor * 10_000_000, row
