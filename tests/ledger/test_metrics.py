"""The metrics of the ledger bench against the tables of a run."""

import json
from pathlib import Path
from typing import Any

import pytest

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


def test_every_metric_of_json_lines_by_hand(tmp_path: Path) -> None:
    phases = (
        *("read", "decode", "tick", "header_check", "resolve", "accounts"),
        *("phase_one", "phase_two", "apply", "flush"),
    )
    lines: list[dict[str, Any]] = [
        {"record": "process", "contract": 1, "engine": "mine", "version": "2", "phases": list(phases)},
        *(
            # Phases of 1.5, 2.5, 3.5 us and so on in the first block, and 100 us more in the second.
            {"record": "block", "slot": slot, "total_ns": total}
            | {f"{phase}_ns": more + 1_500 + 1_000 * place for place, phase in enumerate(phases)}
            for slot, total, more in ((20, 81_999, 0), (40, 1_281_001, 100_000))
        ),
        {
            "record": "end",
            "blocks": 2,
            "peak_bytes": 5_000_000,
            "read_bytes": 6_000_000,
            "written_bytes": 7_000_000,
            "minor_faults": 8,
            "major_faults": 9,
            "disk_bytes": 10_000_000,
        },
    ]
    file = tmp_path / "lines.json"
    file.write_text("".join(f"{json.dumps(line)}\n" for line in lines))
    (run,) = import_recordings([Recording(target="mine", files=[file], factors={}, out=tmp_path / "run")])
    for metric, values in {
        "total_us": [81.999, 1_281.001],
        "read_us": [1.5, 101.5],
        "decode_us": [2.5, 102.5],
        "tick_us": [3.5, 103.5],
        "header_check_us": [4.5, 104.5],
        "resolve_us": [5.5, 105.5],
        "accounts_us": [6.5, 106.5],
        "phase_one_us": [7.5, 107.5],
        "phase_two_us": [8.5, 108.5],
        "utxo_apply_us": [9.5, 109.5],
        "flush_us": [10.5, 110.5],
        "peak_memory_mb": [5],
        "read_mb": [6],
        "written_mb": [7],
        "minor_faults": [8],
        "major_faults": [9],
        "disk_mb": [10],
    }.items():
        assert samples(run, metric).table["value"].to_pylist() == pytest.approx(values), metric
