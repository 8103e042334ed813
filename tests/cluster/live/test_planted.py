"""A delay that is planted in nodes is found between live runs, and between equal runs nothing is."""

import json
from pathlib import Path

import pytest

from tests.cluster.live.machine import skip_without_network, skip_without_programs, skip_without_router
from tests.conftest import slotmark

PLANTED_S = 0.02


@pytest.mark.slow
@pytest.mark.timeout(3000)
def test_twenty_milliseconds_are_found_and_equal_runs_are_not_told_apart(tmp_path: Path) -> None:
    skip_without_programs()
    skip_without_router()
    made = slotmark("cluster", "create", "value-only-5", "-o", tmp_path / "bed")
    assert made.returncode == 0, made.stderr
    nodes = {"usual": "slotmark", "again": "slotmark", "delayed": "slotmark --delay adopt=20ms"}
    named = [word for name, node in nodes.items() for word in ("--node", f"{name}={node}")]
    out = tmp_path / "runs"
    done = slotmark(
        "cluster", "run", tmp_path / "bed", *named, "--rounds", "5", "--for", "60s", "-o", out, timeout=2400
    )
    skip_without_network(done.stderr)
    assert done.returncode == 0, done.stderr
    runs = {name: ",".join(str(out / f"{name}-{number}") for number in range(1, 6)) for name in nodes}
    rows = {}
    for name in ("again", "delayed"):
        report = tmp_path / f"{name}-report"
        compared = slotmark("compare", runs["usual"], runs[name], "-o", report)
        assert compared.returncode == 0, compared.stderr
        found = json.loads((report / "report.json").read_text(encoding="utf-8"))
        rows[name] = {row["metric"]["name"]: row["differences"][0] for row in found["rows"] if row["differences"]}
    for stage in ("Fetched to adopted", "Forged to self-adopted"):
        found = rows["delayed"][stage]
        assert found["verdict"] == "worse", found
        assert found["delta"]["estimate"] == pytest.approx(PLANTED_S, abs=0.01)
        assert rows["again"][stage]["verdict"] != "worse", rows["again"][stage]
