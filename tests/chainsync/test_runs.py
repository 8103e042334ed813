"""From what clients printed to the tables of a run: figures that are worked out by hand."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from slotmark.benches.chainsync.invocation import Done, First, Invocation, Progress, Ready, Started
from slotmark.benches.chainsync.runs import SessionFacts, new_runs
from slotmark.benches.chainsync.session import Case, Measured
from slotmark.benches.chainsync.setting import Setting
from slotmark.benches.chainsync.targets import FLOOR, Description
from slotmark.measure.manifest import NewRun
from slotmark.measure.session import Head
from tests.made_up_runs import MACHINE

MS = 10**6


def measured(order: int, number: int, program: str, mode: str, elapsed_ms: int, share: float) -> Measured:
    """An invocation of 100 blocks: ready at 5 ms of its clock, the first request at 10 ms, the first block 2 ms later, half of the blocks after a quarter of the time."""
    start = 10 * MS
    end = start + elapsed_ms * MS
    ran = Invocation(
        ready=Ready(at_ns=5 * MS, connect_ns=MS),
        started=Started(at_ns=start),
        first=First(at_ns=start + 2 * MS),
        progress=[
            Progress(blocks=50, at_ns=start + elapsed_ms * MS // 4, bytes=5_000),
            Progress(blocks=100, at_ns=end, bytes=9_000),
        ],
        done=Done(blocks=100, at_ns=end, bytes=9_000 if program == FLOOR else 8_000),
        startup_ns=5 * MS,
        cpu_ns=7 * MS,
        voluntary_switches=3,
        user_us=1,
        system_us=2,
        peak_bytes=4_000_000,
        server_cpu_ns=round(share * elapsed_ms * MS),
    )
    setting = Setting(mode, 10)  # pyright: ignore[reportArgumentType]
    return Measured(case=Case(program, setting), round=number, order=order, result=ran, at="", load=0.5)


def run_of(shares: tuple[float, float, float]) -> NewRun:
    """The run of a client beside the floor: a warm-up round and two others, in which the server took these shares of a core."""
    every = []
    for number, share in enumerate(shares):
        every.append(measured(3 * number, number, FLOOR, "raw", 40 + number, share))
        every.append(measured(3 * number + 1, number, "mine", "decode", 80 + number, share))
        every.append(measured(3 * number + 2, number, "mine", "raw", 60 + number, 0.1))
    facts = SessionFacts(
        head=Head(session="s", machine=MACHINE, started="", asked={}),
        workload={},
        parameters={},
        sources=[],
        pinned=True,
        node="",
        node_program=None,
        rounds=20,
        reply_delay_us=0.0,
        server_peak_bytes=None,
        warnings=[],
    )
    said = Description(contract=1, name="mine", version="1", modes={"decode": 10, "raw": 10})
    (run,) = new_runs(Path("out"), facts, every, [], {"mine": said})
    return run


def rows(run: NewRun, table: str) -> list[dict[str, Any]]:
    held = run.tables[table]
    assert not isinstance(held, Sequence)
    return held.to_pylist()


def test_times_and_the_floor_of_the_same_round_and_depth() -> None:
    run = run_of((0.9, 0.6, 0.7))
    decoded = [row for row in rows(run, "invocations") if row["mode"] == "decode"]
    assert [(row["round"], row["warmup"]) for row in decoded] == [(0, True), (1, False), (2, False)]
    # A floor never decodes; it counts the bytes.
    for name, values in {
        "elapsed_ns": [80 * MS, 81 * MS, 82 * MS],
        "floor_elapsed_ns": [40 * MS, 41 * MS, 42 * MS],
        "floor_blocks": [100] * 3,
        "bytes": [9_000] * 3,
        "first_block_ns": [2 * MS] * 3,
        "startup_ns": [5 * MS] * 3,
        "client_cpu_ns": [7 * MS] * 3,
    }.items():
        assert [row[name] for row in decoded] == values, name
    windows = [row for row in rows(run, "windows") if row["invocation"] == 1]
    assert [(row["blocks"], row["at_ns"], row["window_blocks"], row["window_ns"]) for row in windows] == [
        (50, 20 * MS, 50, 20 * MS),
        (100, 80 * MS, 50, 60 * MS),
    ]


@pytest.mark.parametrize(
    ("shares", "busy"),
    [
        ((0.99, 0.60, 0.78), []),  # the warm-up doesn't count, and the median of the others is 0.69
        ((0.10, 0.60, 0.82), ["decode, 10 in flight"]),
        ((0.10, 0.70, 0.70), []),  # from 70 % on only above it
    ],
)
def test_a_server_is_busy_by_the_median_of_rounds_that_count(
    shares: tuple[float, float, float], busy: list[str]
) -> None:
    assert [one.subject for one in run_of(shares).warnings if one.kind == "server_busy"] == busy
