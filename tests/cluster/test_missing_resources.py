"""A missing sample of resources: what two seconds used is no second's use."""

import json
from datetime import datetime
from itertools import pairwise
from pathlib import Path

import pytest

from slotmark.metrics import samples
from slotmark.run import open_run
from tests.conftest import slotmark

HOST = "node-2"


def test_use_over_a_gap_is_divided_by_the_gaps_length(tmp_path: Path) -> None:
    made = slotmark("simulate", "value-only-5", "--slots", "90", "-o", tmp_path / "logs")
    assert made.returncode == 0, made.stderr
    log = tmp_path / "logs" / HOST / "stdout"
    lines = log.read_text().splitlines(keepends=True)
    taken = [place for place, line in enumerate(lines) if '"CentiCpu"' in line]
    cut = taken[40]
    log.write_text("".join(line for place, line in enumerate(lines) if place != cut))
    made = slotmark("ingest", tmp_path / "logs", "-o", tmp_path / "run")
    assert made.returncode == 0, made.stderr

    taken_lines = [json.loads(lines[place]) for place in taken if place != cut]
    read = [(datetime.fromisoformat(one["at"]).timestamp(), one["data"]["CentiCpu"]) for one in taken_lines]
    spans = [after - before for (before, _), (after, _) in pairwise(read)]
    assert max(spans) == pytest.approx(2, rel=0.05)
    expected = [(after - before) / span for ((_, before), (_, after)), span in zip(pairwise(read), spans, strict=True)]
    of = samples(open_run(tmp_path / "run"), "cpu_percent").of("")
    found = [value for key, value in of.items() if HOST in key]
    assert found == pytest.approx(expected, rel=1e-4)
    print(
        f"mean of samples {sum(found) / len(found):.4f}, of the whole time {(read[-1][1] - read[0][1]) / sum(spans):.4f}"
    )
