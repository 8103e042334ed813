"""Delays of wakes on a machine, from recorded numbers: those that harm are distinguished from processors that nodes share without harm."""

import time
from pathlib import Path

import pyarrow as pa
import pytest

from slotmark.benches.cluster.live.sampling import MACHINE_SCHEMA, USAGE_SCHEMA, busyness
from slotmark.benches.cluster.live.waking import (
    LIMIT_US,
    SCHEMA,
    Waking,
    lateness,
    machine_warning,
    machines_warnings,
    read_delays,
)
from slotmark.measure.shipped import program
from tests.cluster.live.machine import PATIENCE_S

SECOND_NS = 10**9


def recorded(*late_us: tuple[float, float]) -> pa.Table:
    """A second per pair: by how much its 100 wakes were late, in the mean and at the worst."""
    rows = [
        {"ts_ns": place * SECOND_NS, "wakes": 100, "late_ns": round(mean * 100_000), "worst_ns": round(worst * 1000)}
        for place, (mean, worst) in enumerate(late_us)
    ]
    return pa.Table.from_pylist(rows, SCHEMA)


def test_a_quiet_machine_is_no_warning_though_nodes_waited_for_most_of_their_time() -> None:
    """Five nodes that wake together for 5 % of the time, as recorded of a run alone: each waits while the others have their turn."""
    delays = recorded((80, 900), (95, 4_000), (70, 300))
    found = lateness(delays, 0, 3 * SECOND_NS)
    assert found is not None
    assert found.mean_us == pytest.approx(81.67, abs=0.01)
    assert found.worst_us == 4_000
    assert machine_warning(found) == []
    names = ("host", "ts_ns", "cpu_ns", "runqueue_ns")
    rows = [("a", 0, 0, 0), ("a", 2 * SECOND_NS, 10_000_000, 60_000_000)]
    usage = pa.Table.from_pylist([dict(zip(names, row, strict=True)) for row in rows], USAGE_SCHEMA)
    machine = pa.Table.from_pylist(
        [{"ts_ns": 0, "busy_ns": 0, "idle_ns": 0}, {"ts_ns": 2 * SECOND_NS, "busy_ns": 5, "idle_ns": 95}],
        MACHINE_SCHEMA,
    )
    shared = busyness(usage, machine, 0, 2 * SECOND_NS)
    assert shared is not None
    assert shared.waiting > 0.8  # what the warning was made of before
    assert shared.busy == 0.05


def test_a_busy_machine_is_a_warning_with_its_numbers() -> None:
    delays = recorded((80, 900), (1_500, 12_000), (4_000, 128_000))
    (warning,) = machine_warning(lateness(delays, 0, 3 * SECOND_NS))
    assert warning.kind == "machine_shared"
    assert "1.86 ms late on average, and at most 128 ms (the limit is 0.5 ms)" in warning.text


def test_each_busy_machine_of_several_is_a_warning_with_its_name() -> None:
    late, quiet = (lateness(recorded((mean, 9_000)), 0, SECOND_NS) for mean in (900, 80))
    found = machines_warnings({"vm-1 (10.0.0.1)": late, "vm-2 (10.0.0.2)": quiet, "vm-3 (10.0.0.3)": late})
    assert [(one.kind, one.subject) for one in found] == [
        ("machine_shared", "vm-1 (10.0.0.1)"),
        ("machine_shared", "vm-3 (10.0.0.3)"),
    ]
    assert [one.subject for one in machines_warnings({"": late})] == [""]


def test_only_the_measurement_counts() -> None:
    delays = recorded((9_000, 90_000), (80, 900), (80, 900), (9_000, 90_000))
    assert machine_warning(lateness(delays, SECOND_NS, 2 * SECOND_NS)) == []
    assert machine_warning(lateness(delays, 0, 3 * SECOND_NS))
    assert lateness(delays, 10 * SECOND_NS, 11 * SECOND_NS) is None
    assert machine_warning(None) == []


def test_the_limit_is_where_it_is_said_to_be() -> None:
    assert machine_warning(lateness(recorded((LIMIT_US, LIMIT_US)), 0, SECOND_NS)) == []
    assert machine_warning(lateness(recorded((LIMIT_US + 1, LIMIT_US + 1)), 0, SECOND_NS))


def test_the_program_writes_a_row_per_second_until_it_is_ended(tmp_path: Path) -> None:
    if not program("slotmark-wakes").is_file():
        pytest.skip("slotmark-wakes isn't built: make setup does it")
    file = tmp_path / "timer-delays.jsonl"
    began_ns = time.time_ns()
    with Waking(file):
        until = time.monotonic() + PATIENCE_S
        while file.read_bytes().count(b"\n") < 2:
            assert time.monotonic() < until
            time.sleep(0.05)
    rows = read_delays(file).to_pylist()
    ended_ns = time.time_ns()
    assert began_ns < rows[0]["ts_ns"] < rows[1]["ts_ns"] < ended_ns
    for row in rows:
        assert 0 < row["wakes"] <= 25  # each is due 50 ms after the one before
        assert 0 < row["worst_ns"] <= row["late_ns"] <= row["wakes"] * row["worst_ns"]


def test_what_was_cut_while_it_was_written_is_read_up_to_there(tmp_path: Path) -> None:
    file = tmp_path / "timer-delays.jsonl"
    file.write_text('{"ts_ns": 1, "wakes": 100, "late_ns": 5, "worst_ns": 1}\n{"ts_ns": 2, "wak')
    assert read_delays(file).to_pylist() == [{"ts_ns": 1, "wakes": 100, "late_ns": 5, "worst_ns": 1}]
    assert read_delays(tmp_path / "none").num_rows == 0
