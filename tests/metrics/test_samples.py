"""Samples: what the SQL yields over a run's tables, by hand."""

from pathlib import Path

import msgspec
import pyarrow as pa
import pytest

from slotmark.errors import RunError
from slotmark.metrics import catalogue, samples
from slotmark.run import Run, RunWriter
from tests.made_up_runs import write_run


@pytest.fixture
def run(tmp_path: Path) -> Run:
    return write_run(
        tmp_path / "run",
        "x",
        {"decode, sequential": [100.0, 200.0], "raw, 100 in flight": [4_000.0, 5_000.0]},
        rounds=[2, 1],
        blocks=1_000,
        cpu_us_per_block={"decode, sequential": [30.0, 20.0], "raw, 100 in flight": 1.0},
        switches_per_block=1.5,
        peak_memory_mb=20.0,
        first_block_ms=2.0,
        floor_blocks_per_s=10_000.0,
        server_share=0.25,
        windows=2,
    )


def test_every_metric_by_hand(run: Run) -> None:
    # decode: round 2 at 100 blocks/s takes 10 s, round 1 at 200 takes 5 s. A block has 2,319 bytes.
    # Two windows of 500 blocks, the first half as long again: 1.5 and 1 of 2.5 parts of the time.
    expected: dict[str, dict[tuple[int, ...], float]] = {
        "blocks_per_s": {(1,): 200, (2,): 100},
        "cpu_us_per_block": {(1,): 20, (2,): 30},
        "switches_per_block": {(1,): 1.5, (2,): 1.5},
        "peak_memory_mb": {(1,): 20, (2,): 20},
        "first_block_ms": {(1,): 2, (2,): 2},
        "startup_ms": {(1,): 12, (2,): 12},
        "mb_per_s": {(1,): 0.4638, (2,): 0.2319},
        "floor_share": {(1,): 2, (2,): 1},
        "server_share": {(1,): 25, (2,): 25},
        "window_blocks_per_s": {(1, 500): 500 / 3, (1, 1000): 250, (2, 500): 500 / 6, (2, 1000): 125},
    }
    assert [metric.id for metric in catalogue("chainsync").metrics] == list(expected)
    for metric_id, values in expected.items():
        found = samples(run, metric_id)
        assert found.settings == ["decode, sequential", "raw, 100 in flight"]
        assert found.of("decode, sequential") == pytest.approx(values), metric_id
        assert found.keys("decode, sequential") == list(values)
        assert found.values("decode, sequential") == pytest.approx(list(values.values()))


def test_what_somebody_elses_node_does_not_tell_has_no_samples(tmp_path: Path) -> None:
    run = write_run(tmp_path / "run", "x", {"raw, sequential": [1.0]}, server_share=None, floor_blocks_per_s=None)
    for metric_id in ("server_share", "floor_share"):
        assert samples(run, metric_id).settings == []


def changed(run: Run, path: Path, invocations: pa.Table) -> Run:
    with RunWriter(path) as writer:
        writer.table("invocations", invocations)
        writer.table("windows", run.table("windows"))
        return writer.finish(run.manifest)


def test_two_samples_with_one_key_are_refused(run: Run, tmp_path: Path) -> None:
    table = run.table("invocations")
    twice = changed(run, tmp_path / "twice", pa.concat_tables([table, table]))
    with pytest.raises(RunError, match="two samples of 'blocks_per_s' have one key"):
        samples(twice, "blocks_per_s")


def test_a_value_that_is_no_number_is_named(run: Run, tmp_path: Path) -> None:
    table = run.table("invocations")
    column = table.schema.get_field_index("elapsed_ns")
    zeros = pa.array([0] * table.num_rows, pa.int64())
    broken = changed(run, tmp_path / "broken", table.set_column(column, table.schema.field(column), zeros))
    with pytest.raises(RunError, match="'blocks_per_s' is no number in setting decode, sequential, round 1"):
        samples(broken, "blocks_per_s")


def test_a_run_without_the_table_says_so(run: Run, tmp_path: Path) -> None:
    with RunWriter(tmp_path / "less") as writer:
        writer.table("invocations", run.table("invocations"))
        less = writer.finish(msgspec.structs.replace(run.manifest))
    with pytest.raises(RunError, match="can't compute 'window_blocks_per_s'"):
        samples(less, "window_blocks_per_s")


def test_an_unknown_metric_or_bench_is_named(run: Run) -> None:
    with pytest.raises(RunError, match=r"chainsync has no metric 'speed'\. It has: blocks_per_s, "):
        samples(run, "speed")
    with pytest.raises(RunError, match="knows no bench 'chess'"):
        catalogue("chess")


def test_every_metric_has_its_sql_and_every_sql_its_metric() -> None:
    entries = catalogue("chainsync")
    folder = Path(__file__).parents[2] / "python" / "slotmark" / "metrics" / "chainsync"
    assert sorted(file.stem for file in folder.glob("*.sql")) == sorted(metric.id for metric in entries.metrics)
