"""Samples: what the SQL yields over a run's tables, by hand."""

import time
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any

import duckdb
import msgspec
import pyarrow as pa
import pytest

from slotmark.benches.chainsync.tables import ANNOUNCEMENTS, ROLLBACKS
from slotmark.benches.ledger.tables import BATCHES, STORE_PROCESS
from slotmark.errors import ArgumentError, RunError
from slotmark.metrics import Analysis, Metric, Samples, catalogue, one_ahead, parse_filters, register, samples
from slotmark.metrics.database import Database
from slotmark.metrics.samples import keys_of, samples_of
from slotmark.run import Run, RunWriter, Target
from tests.made_up_runs import bare_manifest, write_run


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
        assert found.parts == ["decode, sequential", "raw, 100 in flight"]
        assert found.of("decode, sequential") == pytest.approx(values), metric_id
        assert found.keys("decode, sequential") == list(values)
        assert found.values("decode, sequential") == pytest.approx(list(values.values()))


def test_every_metric_of_stores_by_hand(tmp_path: Path) -> None:
    """Four batches of 100 operations each in 2 s."""
    process: dict[str, Any] = {
        "execution": 1,
        "place": 0,
        "load": 0.5,
        "wall_ns": 9_000_000_000,
        "load_ns": 3_000_000_000,
        "elapsed_ns": 2_000_000_000,
        "operations": 400,
        "entries": 1_000,
        "disk_bytes": 12_000_000,
        "page_cache_bytes": 7_000_000,
        "peak_bytes": 30_000_000,
        "read_bytes": 400 * 2 * 4096,
        "written_bytes": 400 * 128,
        "minor_faults": 5,
        "major_faults": 6,
        "user_us": 3_000,
        "system_us": 1_000,
        "reads_per_s_at_1": 50.0,
        "reads_per_s_at_32": 800.0,
    }
    times_ms = [(10, 7), (20, 12), (40, 25), (30, 11)]
    batches = [
        {
            "batch": number,
            "latency_ns": latency * 10**6,
            "lookups_ns": lookups * 10**6,
            "updates_ns": (latency - lookups) * 10**6,
        }
        for number, (latency, lookups) in enumerate(times_ms, 1)
    ]
    with RunWriter(tmp_path / "run") as writer:
        writer.table("execution", pa.Table.from_pylist([process], schema=STORE_PROCESS))
        writer.table("batches", pa.Table.from_pylist(batches, schema=BATCHES))
        run = writer.finish(bare_manifest("a", "stores", Target("lsm", "1", "Rust", "", "")))
    expected: dict[str, list[float]] = {
        "operations_per_s": [200],
        "batch_ms": [10, 20, 40, 30],
        "worst_batch_ms": [40],
        "p99_batch_ms": [39.7],  # of 10, 20, 30, 40 at place 0.99 * 3 = 2.97
        "median_batch_ms": [25],
        "lookups_ms": [7, 12, 25, 11],
        "updates_ms": [3, 8, 15, 19],
        "cpu_us_per_operation": [10],
        "peak_memory_mb": [30],
        "page_cache_mb": [7],
        "reads_per_operation": [2],
        "written_bytes_per_operation": [128],
        "disk_mb": [12],
        "operations_per_read": [0.25],
        "fill_s": [3],
    }
    assert [metric.id for metric in catalogue("stores").metrics] == list(expected)
    for metric, values in expected.items():
        assert samples(run, metric).values("").tolist() == pytest.approx(values), metric


def test_every_metric_of_following_by_hand(tmp_path: Path) -> None:
    """A block that counts, one that is announced again after a roll-backward, one that the client didn't wait for, and one that it never had done."""
    # Slot, announcement, awaited, and in us: announced, arrived, done with, longest in the relay.
    rows = [
        (10, 1, True, 1_000, 1_400, 1_900, 30),
        (20, 1, True, 2_000, 2_100, 2_300, 10),
        (20, 2, True, 5_000, 5_200, 5_700, 20),
        (30, 1, False, 6_000, 6_001, 6_900, 40),
        (40, 1, True, 7_000, 7_300, None, 50),
    ]
    announcements = [
        {
            "setting": "decode",
            "mode": "decode",
            "slot": slot,
            "hash": f"{slot:064}",
            "announcement": announcement,
            "awaited": awaited,
            "bytes": 100,
            "announced_ns": announced * 1_000,
            "arrived_ns": arrived * 1_000,
            "decoded_ns": None if decoded is None else decoded * 1_000,
            "latency_ns": None if decoded is None else (decoded - announced) * 1_000,
            "held_ns": held * 1_000,
        }
        for slot, announcement, awaited, announced, arrived, decoded, held in rows
    ]
    back = {"setting": "decode", "at_ns": 4_000_000, "to": f"10.{10:064}"}
    with RunWriter(tmp_path / "run") as writer:
        writer.table("announcements", pa.Table.from_pylist(announcements, schema=ANNOUNCEMENTS))
        writer.table("rollbacks", pa.Table.from_pylist([back], schema=ROLLBACKS))
        run = writer.finish(bare_manifest("a", "follow", Target("mine", "1", "Rust", "", "")))
    expected: dict[str, list[float]] = {
        "decoded_us": [900, 300, 700],
        "arrival_us": [400, 100, 200],
        "after_arrival_us": [500, 200, 500],
        "relay_us": [30, 10, 20],
    }
    assert [metric.id for metric in catalogue("follow").metrics] == list(expected)
    for metric, values in expected.items():
        assert samples(run, metric).values("decode").tolist() == pytest.approx(values), metric
    with Analysis(run) as analysis:
        assert analysis.facts() == [
            ("blocks announced, decode", "5"),
            ("of these, awaited at the tip and done, decode", "3"),
            ("of these, not awaited, decode", "1"),
            ("of these, never done, decode", "1"),
            ("of these, announced before and rolled back, decode", "1"),
            ("roll-backwards, decode", "1"),
        ]


def test_what_somebody_elses_node_does_not_tell_has_no_samples(tmp_path: Path) -> None:
    run = write_run(tmp_path / "run", "x", {"raw, sequential": [1.0]}, server_share=None, floor_blocks_per_s=None)
    for metric_id in ("server_share", "floor_share"):
        assert samples(run, metric_id).parts == []


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
    with pytest.raises(RunError, match="'blocks_per_s' is no number in part decode, sequential, round 1"):
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
    with pytest.raises(RunError, match="has no bench 'chess'"):
        catalogue("chess")


@pytest.mark.parametrize("bench", ["chainsync", "cluster", "ledger"])
def test_every_metric_has_a_value_and_every_relation_a_reader(bench: str) -> None:
    entries = catalogue(bench)
    metrics = [*entries.metrics, *(entries.mixed.metric if entries.mixed else [])]
    texts = [sql(metric.id) for metric in metrics for sql in (entries.keys_sql, entries.values_sql)]
    texts += [entries.relation_sql(name) for name in entries.relations if name not in entries.native]
    texts += [warning.sql for warning in entries.warnings if warning.sql]
    with duckdb.connect() as connection:
        read = {name for text in texts for name in connection.get_table_names(text)}
    read |= {split.relation for split in entries.splits} | (
        {entries.stage_cells.relation} if entries.stage_cells else set()
    )
    read |= {known.relation for known in entries.keys.values() if known.relation}
    read |= {entries.ends.relation} if entries.ends else set()
    read |= {entries.mixed.passed_on.relation} if entries.mixed and entries.mixed.passed_on else set()
    assert all(metric.relation and metric.value for metric in metrics)
    assert set(entries.relations) <= read


def test_a_metric_is_compared_as_its_catalogue_says() -> None:
    assert {metric.estimator for metric in catalogue("chainsync").metrics} == {"rounds"}
    assert {metric.estimator for metric in catalogue("cluster").metrics} == {"means"}
    assert {metric.estimator for metric in catalogue("ledger").metrics} == {"blocks", "processes"}
    assert [metric.id for metric in catalogue("ledger").metrics if metric.inside == "total_us"] == ["gc_us"]


def test_a_bench_may_live_in_a_folder_of_its_own(run: Run, tmp_path: Path) -> None:
    folder = tmp_path / "bench"
    (folder / "relations").mkdir(parents=True)
    (folder / "relations" / "counted.sql").write_text(
        "SELECT round, blocks FROM invocations WHERE NOT warmup AND depth = 1"
    )
    (folder / "facts.sql").write_text(
        "SELECT 2 AS place, 'rounds' AS name, 1e3 * COUNT(*) AS number, NULL AS text, 1 AS decimals FROM counted "
        "UNION ALL SELECT 1, 'of', NULL, 'a test', 0"
    )
    (folder / "warnings.toml").write_text(
        """
        [[warning]]
        kind = "few"
        sql = "SELECT COUNT(*) * 1000 AS rounds, LIST('n' || range) AS names FROM counted, RANGE(6) HAVING COUNT(*) < 20"
        text = "Only {rounds} rounds of {names}."
        [[warning]]
        kind = "none"
        sql = "SELECT 1 WHERE FALSE"
        text = "Never."
        """
    )
    (folder / "catalogue.toml").write_text(
        """
        estimator = "means"
        [[metric]]
        id = "blocks"
        name = "Blocks"
        unit = ""
        better = "higher"
        grain = ["round"]
        relation = "counted"
        value = "blocks"
        estimator = "seeds"
        definition = "Blocks."
        """
    )
    register("made up", folder)
    register("made up", folder)
    with pytest.raises(RunError, match="there is a bench 'chainsync' already"):
        register("chainsync", folder)
    with pytest.raises(RunError, match=r"there is no catalogue\.toml"):
        register("other", tmp_path)
    own = Run(run.path, msgspec.structs.replace(run.manifest, bench="made up"))
    with Analysis(own) as analysis:
        found = analysis.samples("blocks")
        assert (found.parts, found.of(""), found.metric.estimator) == ([""], {(1,): 1000, (2,): 1000}, "seeds")
        assert found.rows.column_names == ["round", "value"]
        assert analysis.facts() == [("of", "a test"), ("rounds", "2,000.0")]
        assert [(warning.kind, warning.text) for warning in analysis.warnings()] == [
            ("few", "Only 12,000 rounds of n0, n1, n2, n3, n4 and 7 more.")
        ]
        assert not analysis.parts().meets
        with pytest.raises(RunError, match="made up has no relation 'blocks'"):
            analysis.relation("blocks")
    assert not catalogue("made up").filterable
    with pytest.raises(ArgumentError, match="made up runs have nothing to filter"):
        parse_filters(["EpochGEq 1"], "made up")


@pytest.mark.parametrize("argument", ["nan", "inf", "-1e400", "", "two"])
def test_a_filter_compares_with_a_number(argument: str) -> None:
    with pytest.raises(ArgumentError, match="SlotLEq needs a number"):
        parse_filters([f"SlotLEq {argument}"], "cluster")


HOSTILE = "x\" AS SELECT 1; COPY (SELECT 'a') TO 'victim.py'; CREATE VIEW \"y"


def test_a_manifest_cannot_run_sql(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    tables = {**run.manifest.tables, HOSTILE: 1, "../../outside": 1}
    hostile = Run(run.path, msgspec.structs.replace(run.manifest, tables=tables))
    before = sorted(tmp_path.rglob("*"))
    with Analysis(hostile) as analysis:
        for metric in analysis.catalogue.metrics:
            assert analysis.samples(metric.id).table.num_rows
        with pytest.raises(RunError, match=r"there is no table '\.\./\.\./outside'"):
            analysis.query('SELECT * FROM "../../outside"')
    assert sorted(tmp_path.rglob("*")) == before


def test_sql_reaches_nothing_but_the_run(run: Run, tmp_path: Path) -> None:
    (tmp_path / "secret.csv").write_text("a\n1\n")
    victim = tmp_path / "victim.py"
    with Analysis(run) as analysis:
        for sql in (
            f"SELECT * FROM read_csv('{tmp_path / 'secret.csv'}')",
            f"SELECT * FROM '{tmp_path / 'secret.csv'}'",
            f"COPY (SELECT 1) TO '{victim}'",
            f"ATTACH '{victim}'",
            f"SELECT 1; COPY (SELECT 1) TO '{victim}'",
            "SET enable_external_access = true",
            "INSTALL httpfs",
            "LOAD httpfs",
        ):
            with pytest.raises(RunError, match="can't compute a query"):
                analysis.query(sql)
    assert not victim.exists()


@pytest.mark.parametrize(
    ("fault", "remedy"),
    [
        (
            duckdb.InternalException("INTERNAL Error: Index 3 is out of bounds"),
            "Give the command again, and report this",
        ),
        (
            duckdb.FatalException("FATAL Error: the database has been invalidated"),
            "Give the command again, and report this",
        ),
        (duckdb.BinderException("Binder Error: no column x"), "Make the run again"),
    ],
)
def test_a_fault_of_the_database_is_none_of_the_run(
    run: Run, monkeypatch: pytest.MonkeyPatch, fault: duckdb.Error, remedy: str
) -> None:
    def fails(*_: object) -> None:
        raise fault

    monkeypatch.setattr(Database, "make", fails)
    with Analysis(run) as analysis, pytest.raises(RunError, match=remedy):
        analysis.relation(next(iter(analysis.catalogue.relations)))


def test_a_path_is_no_pattern(tmp_path: Path) -> None:
    for name, rates in {"r*un": [1.0], "rxun": [1.0, 2.0], "q'u[x]?{a,b}": [1.0, 2.0, 3.0]}.items():
        run = write_run(tmp_path / name, "x", {"raw, sequential": rates})
        assert len(samples(run, "blocks_per_s").of("raw, sequential")) == len(rates)


def test_a_part_that_a_metric_does_not_have_is_refused_with_those_that_there_are(run: Run) -> None:
    rates = samples(run, "blocks_per_s")
    for ask in (rates.values, rates.of, rates.keys, rates.within, rates.smallest):
        with pytest.raises(
            RunError, match=r"no part 'decode, sequentail'\. Did you mean 'decode, sequential'\? It has: 'deco"
        ):
            ask("decode, sequentail")
    with pytest.raises(RunError, match="no part ''"):
        rates.any("")


def test_a_table_without_all_its_rows_is_refused(run: Run) -> None:
    rows = {**run.manifest.tables, "invocations": 99}
    with pytest.raises(RunError, match=r"invocations: \d+ rows, but run.json says 99"):
        samples(Run(run.path, msgspec.structs.replace(run.manifest, tables=rows)), "blocks_per_s")


COSTS = Metric(id="cost", name="", unit="", better="lower", grain=("run", "slot"), definition="")


def costs(rows: list[tuple[int, int, float]], part: str = "") -> Samples:
    columns = {
        name: list(column) for name, column in zip(("run", "slot", "value"), zip(*rows, strict=True), strict=True)
    }
    return sampled(COSTS, pa.table({"part": [part] * len(rows), **columns}))


def sampled(metric: Metric, table: pa.Table) -> Samples:
    return samples_of(metric, keys_of(metric.grain, table.drop_columns("value")), table["value"], "run")


def test_samples_are_put_in_order_and_laid_out_as_a_matrix() -> None:
    found = costs([(2, 10, 3.0), (1, 30, 2.0), (1, 10, 1.0), (2, 30, 4.0)])
    assert found.keys("") == [(1, 10), (1, 30), (2, 10), (2, 30)]
    assert found.codes("", "run").tolist() == [0, 0, 1, 1]
    assert found.codes("", "slot").tolist() == [0, 1, 0, 1]
    matrix = found.matrix()
    assert (matrix.keys.tolist(), matrix.values.tolist()) == ([10, 30], [[1, 2], [3, 4]])
    assert msgspec.structs.replace(found, table=found.table.slice(0, 0)).matrix("b").values.shape == (0, 0)
    for uneven in ([(1, 10, 1.0), (2, 10, 1.0), (2, 30, 1.0)], [(1, 10, 1.0), (2, 30, 1.0)]):
        with pytest.raises(RunError, match="'cost' isn't there for the same values of 'slot' in every 'run'"):
            costs(uneven).matrix()


def test_metrics_of_one_relation_share_the_codes_of_the_rows_that_they_have_in_common() -> None:
    keys = keys_of(COSTS.grain, pa.table({"part": [""] * 4, "run": [1, 1, 2, 2], "slot": [10, 30, 10, 50]}))

    def of(*values: float | None) -> Samples:
        return samples_of(COSTS, keys, pa.chunked_array([values], pa.float64()), "run")

    every, some, as_many, others = of(1, 2, 3, 4), of(1, None, 3, 4), of(5, None, 6, 7), of(None, 2, 3, None)
    assert every.codes("", "slot").tolist() == [0, 1, 0, 2]
    assert some.codes("", "slot").tolist() == as_many.codes("", "slot").tolist() == [0, 0, 1]
    assert others.codes("", "slot").tolist() == [1, 0]
    assert (some.of(""), as_many.of("")) == (
        {(1, 10): 1, (2, 10): 3, (2, 50): 4},
        {(1, 10): 5, (2, 10): 6, (2, 50): 7},
    )
    fewer = msgspec.structs.replace(every, table=every.table.filter(pa.array([False, True, False, True])))
    assert fewer.codes("", "slot").tolist() == [0, 1]
    assert every.codes("", "run") is of(4, 3, 2, 1).codes("", "run")
    with pytest.raises(ValueError, match="read-only"):
        every.codes("", "run")[0] = 7


def test_the_next_work_is_begun_when_all_of_the_last_is_done_and_before_it_is_taken() -> None:
    working: list[str] = []
    begun: list[int] = []

    def work(item: int, part: str) -> int:
        assert part not in working
        working.append(part)
        time.sleep(0.01 if part == "a" else 0.05)
        working.remove(part)
        return item

    def begin(item: int) -> list[Future[int]]:
        assert not working
        begun.append(item)
        return [pool.submit(work, item, part) for part in "ab"]

    with ThreadPoolExecutor(2) as pool:
        for item, found in one_ahead(range(4), begin):
            assert found == [item, item]
            assert begun[-1] == min(item + 1, 3)
        assert list(one_ahead([], begin)) == []


def test_text_is_ordered_as_text_whatever_its_numbers() -> None:
    metric = msgspec.structs.replace(COSTS, grain=("host",))
    hosts = pa.DictionaryArray.from_arrays(pa.array([0, 1, 2], pa.int8()), pa.array(["b", "é", "a"]))
    named = sampled(metric, pa.table({"part": [""] * 3, "host": hosts, "value": [1.0, 2.0, 3.0]}))
    assert named.of("") == {("a",): 3.0, ("b",): 1.0, ("é",): 2.0}
    assert named.rows.schema.field("host").type == pa.string()
