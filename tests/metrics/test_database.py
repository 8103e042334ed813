"""Relations that are made host by host."""

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import msgspec
import numpy as np
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

from slotmark.benches.cluster.simulating.direct import simulate_direct
from slotmark.benches.cluster.simulating.simulate import load_profile
from slotmark.errors import RunError
from slotmark.metrics import Analysis, analysis, catalogue, database
from slotmark.metrics.samples import Samples, as_text
from slotmark.run import Run

SMALL = ("hosts=6", "pools=6", "run.slots=400", "genesis.epoch_slots=200")


@pytest.fixture(scope="module")
def uneven(tmp_path_factory: pytest.TempPathFactory) -> Run:
    """A run of six hosts of which one has no transactions, and two share a file of them."""
    run, _ = simulate_direct(
        load_profile("value-only-10.5", SMALL), 7, tmp_path_factory.mktemp("run") / "six", lambda *_: None
    )
    of_table = [part for part in run.manifest.parts if part.table == "transactions"]
    assert len(of_table) == 6
    without, one, other = of_table[1], of_table[0], of_table[3]
    tables = run.path / "tables"
    joined = [pq.read_table(tables / part.file) for part in (one, other)]
    with pq.ParquetWriter(tables / one.file, joined[0].schema) as writer:
        for table in joined:
            writer.write_table(table)
    parts = [part for part in run.manifest.parts if part not in (without, other)]
    rows = {**run.manifest.tables, "transactions": run.manifest.tables["transactions"] - without.rows}
    return Run(run.path, msgspec.structs.replace(run.manifest, parts=parts, tables=rows))


def test_relations_are_the_same_however_many_hosts_share_a_statement(
    uneven: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = []
    monkeypatch.setattr(database, "FEW_ROWS", 0)
    # Relations have up to 400 rows per host: hosts share a statement over them as over tables, some more do, or all.
    for at_once, of_relations in ((1, 0), (1, 2_000), (2, 10**9), (4, 0), (100, 0)):
        monkeypatch.setattr(database, "MEMBERS_AT_ONCE", at_once)
        monkeypatch.setattr(database, "RELATION_ROWS_AT_ONCE", of_relations)
        monkeypatch.setattr(database, "ROWS_AT_ONCE", 1)
        with Analysis(uneven, filters=[]) as one:
            relations = {name: one.relation(name) for name in one.catalogue.members.relations}
            blocks = one.relation("blocks")["block_no"].to_pylist()
        assert blocks == sorted(blocks)
        found.append(relations)
    held = [one["slots"].filter(pc.field("txs").is_valid()) for one in found]
    assert [len(set(one["host"].to_pylist())) for one in held] == [5] * 5
    assert all(table.num_rows for table in found[0].values())
    assert all(one == found[0] for one in found[1:])


def test_a_statement_reads_of_its_hosts_alone_what_a_relation_has_in_one_file_for_many(
    uneven: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    """All hosts' spans are in one file, and slots are made of them host by host."""
    monkeypatch.setattr(database, "FEW_ROWS", 0)
    monkeypatch.setattr(database, "MEMBERS_AT_ONCE", 1)
    monkeypatch.setattr(database, "ROWS_AT_ONCE", 1)
    found = []
    for of_spans in (0, 10**9):
        with Analysis(uneven, filters=[]) as one:
            monkeypatch.setattr(database, "RELATION_ROWS_AT_ONCE", of_spans)
            one.relation("spans")
            monkeypatch.setattr(database, "RELATION_ROWS_AT_ONCE", 0)
            found.append(one.relation("slots"))
    assert found[0] == found[1]
    assert found[0].num_rows == 6 * 400


def test_a_run_of_few_rows_has_the_same_samples_however_they_are_read(
    uneven: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With all tables read whole or not, and metrics of one relation together or each alone."""
    ids = [metric.id for metric in catalogue("cluster").metrics]
    found = []
    for few, together in ((10**9, 10**9), (10**9, 0), (0, 10**9), (0, 0)):
        monkeypatch.setattr(database, "FEW_ROWS", few)
        monkeypatch.setattr(analysis, "MOST_TOGETHER", together)
        with Analysis(uneven) as one:
            tables = [as_text(samples.table) for samples in one.each_samples(ids) if isinstance(samples, Samples)]
        found.append(tables)
    assert len(found[0]) == len(ids)
    assert sum(table.num_rows > 0 for table in found[0]) > 40
    for others in found[1:]:
        for metric, one, other in zip(ids, found[0], others, strict=True):
            assert one.drop_columns(["value"]) == other.drop_columns(["value"]), metric
            np.testing.assert_allclose(one["value"].to_numpy(), other["value"].to_numpy(), rtol=1e-12, err_msg=metric)


def test_a_metric_that_cannot_be_read_fails_by_its_own_name(uneven: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    """Though others of its relation are read with it, which don't fail."""
    of_cluster = catalogue("cluster")
    broken, *others = [metric.id for metric in of_cluster.metrics if metric.relation == "blocks"][:4]
    metrics = [
        msgspec.structs.replace(metric, value="block_no + no_such_column") if metric.id == broken else metric
        for metric in of_cluster.metrics
    ]
    with Analysis(uneven) as one:
        one.catalogue = msgspec.structs.replace(of_cluster, metrics=metrics)
        expected = {metric: one.samples(metric).values("").tolist() for metric in others}
        one.expect([*others, broken])
        assert {metric: one.samples(metric).values("").tolist() for metric in others} == expected
        with pytest.raises(RunError, match=f"'{broken}'.*no_such_column"):
            one.samples(broken)


@pytest.mark.slow
@pytest.mark.timeout(900)  # a busy machine is slow
def test_runs_that_are_worked_on_side_by_side_have_their_stages(tmp_path: Path) -> None:
    # DuckDB 2.0.0 failed in one of fifteen with an internal error of its joins, where other threads used its processors.
    profile = load_profile("value-only-10.5", ("run.slots=1500", "genesis.epoch_slots=300"))
    runs = [simulate_direct(profile, seed, tmp_path / str(seed), lambda *_: None)[0] for seed in (1, 2, 3)]

    def rows(run: Run) -> int:
        with Analysis(run) as one:
            return one.relation("stage_cells").num_rows

    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(rows, runs * 30))
    assert found == found[:3] * 30
