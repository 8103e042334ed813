"""Relations that are made host by host."""

import msgspec
import pyarrow.parquet as pq
import pytest

from slotmark.benches.cluster.direct import simulate_direct
from slotmark.benches.cluster.simulate import load_profile
from slotmark.metrics import Analysis, database
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
    for at_once in (1, 2, 4, 100):
        monkeypatch.setattr(database, "MEMBERS_AT_ONCE", at_once)
        monkeypatch.setattr(database, "ROWS_AT_ONCE", 1)
        with Analysis(uneven, filters=[]) as analysis:
            relations = {name: analysis.relation(name) for name in analysis.catalogue.members.relations}
        found.append(
            {name: table.sort_by([(c, "ascending") for c in table.column_names]) for name, table in relations.items()}
        )
    hosts = [len(set(one["mempools"]["host"].to_pylist())) for one in found]
    assert hosts == [5] * 4
    # All hosts log their starts.
    assert {name for name, table in found[0].items() if not table.num_rows} == {"without_starts"}
    assert all(one == found[0] for one in found[1:])
