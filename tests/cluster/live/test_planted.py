"""A delay that is planted in nodes is found between live runs, and between equal runs nothing is."""

import json
from pathlib import Path

import pytest

from tests.cluster.live.machine import skip_without_network, skip_without_programs, skip_without_router
from tests.conftest import slotmark

PLANTED_S = 0.02


@pytest.mark.slow
@pytest.mark.timeout(2400)
def test_twenty_milliseconds_are_found_and_equal_runs_are_not_told_apart(tmp_path: Path) -> None:
    skip_without_programs()
    skip_without_router()
    made = slotmark("cluster", "create", "value-only-5", "-o", tmp_path / "bed")
    assert made.returncode == 0, made.stderr
    nodes = {"usual": "slotmark", "again": "slotmark", "delayed": "slotmark --delay adopt=20ms"}
    for name, node in nodes.items():
        run = ["cluster", "run", tmp_path / "bed", "--for", "5min", "--node", node, "-o", tmp_path / name]
        done = slotmark(*run, timeout=900)
        skip_without_network(done.stderr)
        assert done.returncode == 0, done.stderr
    rows = {}
    for name in ("again", "delayed"):
        out = tmp_path / f"{name}-report"
        compared = slotmark("compare", tmp_path / "usual", tmp_path / name, "-o", out)
        assert compared.returncode == 0, compared.stderr
        report = json.loads((out / "report.json").read_text(encoding="utf-8"))
        rows[name] = {row["metric"]["name"]: row["differences"][0] for row in report["rows"] if row["differences"]}
    for stage in ("Fetched to adopted", "Forged to self-adopted"):
        found = rows["delayed"][stage]
        assert found["verdict"] == "worse", found
        assert found["delta"]["estimate"] == pytest.approx(PLANTED_S, abs=0.01)
        assert rows["again"][stage]["verdict"] != "worse", rows["again"][stage]
