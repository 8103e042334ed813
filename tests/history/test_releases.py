"""Published releases in a store: which steps stand out of what runs of one build differ by."""

import subprocess
import sys
from pathlib import Path

from slotmark.history import history_of, open_store
from slotmark.history.decisions import Decisions
from tests.conftest import REPO

OF = ("10.4.1", "10.5.0", "10.5.4", "10.6.0-pre", "10.6.2")


def test_the_step_of_10_5_stands_out_and_adoption_moves_within_what_runs_differ_by(
    shared: Path, tmp_path: Path
) -> None:
    reports = tmp_path / "reports"
    reports.mkdir()
    for version in OF:
        name = f"release-{version}.plutus.json"
        (reports / name).symlink_to(shared / "published" / "releases" / name)
    made = [sys.executable, REPO / "examples" / "history" / "releases.py", reports, tmp_path / "store"]
    done = subprocess.run(made, capture_output=True, text=True, timeout=600, check=False)
    assert done.returncode == 0, done.stderr
    store = open_store(tmp_path / "store")
    found = {name: history_of(store, name, Decisions()).series for name in ("slot_to_announced", "adopted_by_096")}
    (announced,) = (one for one in found["slot_to_announced"] if len(one.levels) > 4)
    (adopted,) = (one for one in found["adopted_by_096"] if len(one.levels) > 4)
    assert announced.table == adopted.table == "reference-52, 10 pairs"
    (change,) = (one for one in announced.changes if one.state == "sure")
    assert (change.version_before, change.version, change.better, change.runs) == ("10.4.1", "10.5.0", True, 4)
    assert change.explanations[0].startswith("version 10.4.1 -> 10.5.0")
    assert not [one for one in adopted.changes if one.state == "sure"]
    line = adopted.versions[-1]
    assert (line.version, line.over) == ("10.6.2", "runs")
    assert 0.03 < line.estimate.high / line.estimate.estimate - 1 < 0.1
