"""Runs that end before what their profile would analyse: what there is is analysed, with a warning, by logs and directly."""

import json
from pathlib import Path

import pytest

from slotmark import open_run
from slotmark.benches.cluster.ingesting.ingest import ingest
from slotmark.benches.cluster.requests import IngestRequest
from slotmark.metrics import Analysis
from tests.cluster.made_up_logs import Cluster
from tests.conftest import slotmark

SMALL = ("--set", "network.hosts=6", "--set", "network.pools=6")


def done(*arguments: str | Path) -> str:
    finished = slotmark(*arguments)
    assert finished.returncode == 0, finished.stderr
    return " ".join(finished.stdout.split())


def compared(first: Path, second: Path, out: Path, last_slot: str) -> None:
    """Compares two short runs; their report has blocks, and the warning."""
    words = done("compare", first, second, "-o", out)
    assert "The run ended before the slots that the profile's EpochGEq 2 would select" in words
    assert f"slots 0 to {last_slot}, in which it was measured, are analysed instead" in words
    for run in (first, second):
        with Analysis(open_run(run)) as analysis:
            (blocks,) = analysis.query("SELECT COUNT(*) FILTER (accepted) AS n FROM blocks")["n"].to_pylist()
        assert blocks > 3
    report = json.loads((out / "report.json").read_text())
    (row,) = [row for row in report["rows"] if row["metric"]["id"] == "adopted_by_096"]
    assert all(summary["n"] > 3 for summary in row["summaries"])


def test_a_simulation_that_ends_before_its_filter_begins_has_a_report_with_a_warning(tmp_path: Path) -> None:
    done("simulate", "value-only-10.5", "--slots", "700", *SMALL, "-o", tmp_path / "logs")
    done("ingest", tmp_path / "logs", "-o", tmp_path / "10.5")
    done("simulate", "value-only-10.6-pre", "--slots", "700", *SMALL, "--direct", "-o", tmp_path / "10.6")
    compared(tmp_path / "10.5", tmp_path / "10.6", tmp_path / "out", "699")


@pytest.mark.slow
def test_the_commands_of_the_readme_with_one_epoch_have_a_report_with_a_warning(tmp_path: Path) -> None:
    for profile in ("10.5", "10.6-pre"):
        done("simulate", f"value-only-{profile}", "--slots", "8000", "--direct", "-o", tmp_path / profile)
    compared(tmp_path / "10.5", tmp_path / "10.6-pre", tmp_path / "out", "7,999")


def test_a_run_that_reaches_its_filter_keeps_it(tmp_path: Path) -> None:
    for epoch_slots, kept in ((100, True), (400, False)):
        out = tmp_path / str(epoch_slots)
        done(
            "simulate",
            "value-only-10.5",
            "--slots",
            "450",
            *SMALL,
            "--set",
            f"epoch_slots={epoch_slots}",
            "--direct",
            "-o",
            out,
        )
        run = open_run(out)
        assert ("EpochGEq 2" in run.manifest.parameters["filters"]) is kept
        assert ("filters_left_out" in {one.kind for one in run.manifest.warnings}) is not kept


def test_a_named_set_gives_way_as_its_conditions_do_and_an_unknown_one_is_left_to_the_analysis(tmp_path: Path) -> None:
    cluster = Cluster(2)
    cluster.forge(0, 4, 0, "b0", None, forged_ms=60.0)
    logs = cluster.write(tmp_path / "logs")
    asked = ["epoch3+", "unitary", "model", "fromslot-20k", "no-such-set"]
    (logs / "profile.json").write_text(json.dumps({"analysis": {"filters": asked}}))
    run, _ = ingest(IngestRequest(logs=[str(logs)], out=tmp_path / "run"))
    assert run.manifest.parameters["filters"] == ["unitary", "model", "no-such-set"]
    (warning,) = [one for one in run.manifest.warnings if one.kind == "filters_left_out"]
    assert "epoch3+ and fromslot-20k" in warning.text
