"""The metrics of the ledger bench against the tables of a run."""

from pathlib import Path

from slotmark.benches.ledger.importing import Recording, import_recordings
from slotmark.metrics import catalogue, samples
from tests.ledger.recordings import AGE_2023, points, tab_separated, written


def test_every_metric_of_the_catalogue_has_samples(tmp_path: Path) -> None:
    file = written(tmp_path, "one.csv", tab_separated(points(122, with_table_read=False), AGE_2023))
    (run,) = import_recordings([Recording(target="one", files=[file], factors={}, out=tmp_path / "one")])
    blocks = run.table("blocks")
    held = 0
    for metric in catalogue("ledger").metrics:
        found = samples(run, metric.id).table
        if metric.id not in blocks.column_names:
            assert not found.num_rows, metric.id  # of engines that write JSON lines
            continue
        held += found.num_rows
        assert found["value"].to_pylist() == blocks[metric.id].drop_null().to_pylist(), metric.id
        assert found["slot"].to_pylist() == (blocks["slot"].to_pylist() if found.num_rows else [])
    assert held > 122  # of more than one metric
