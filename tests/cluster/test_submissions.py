"""Outcomes of submitted transactions, on a made-up cluster whose every time is known."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from typer.testing import CliRunner

from slotmark.benches.cluster.ingesting.finishing import MeasuredHere
from slotmark.benches.cluster.ingesting.ingest import ingest
from slotmark.benches.cluster.live.workload import INCLUSIONS_SCHEMA, SUBMISSIONS_SCHEMA
from slotmark.benches.cluster.requests import IngestRequest
from slotmark.cli import app
from slotmark.metrics import Analysis
from slotmark.run import Run, machine_facts
from tests.cluster.made_up_logs import Cluster, block_hash, ts

# The slot, and its part, in which each was due, its target, and the block that has it.
TRANSACTIONS = (
    (4.5, "node-1", "b1"),  # before the measurement
    (5.0, "node-0", "b1"),
    (12.5, "node-1", "b1"),
    (13.0, "node-0", ""),  # a later one of its target is in a block: lost
    (14.0, "node-0", "b2"),
    (33.0, "node-1", ""),  # the last of its target: on its way
)


def logs(folder: Path, *, forged_ms: float = 60.0, filters: Sequence[Any] = (), lost: int | None = None) -> Path:
    """Two hosts; block n is forged into slot 10 n + 4 by node-0, and adopted by both 120 ms and 400 ms into it; a lost one by the forger alone."""
    cluster = Cluster(2)
    for number in range(4):
        slot = 10 * number + 4
        cluster.forge(0, slot, number, f"b{number}", f"b{number - 1}" if number else None, forged_ms=forged_ms)
        cluster.observe(1, slot, number, f"b{number}", adopted_ms=None if number == lost else 400.0)
    return cluster.write(folder, filters=filters)


def submitted(folder: Path, written: Path, transactions: Sequence[tuple[float, str, str]]) -> Run:
    """The run of these logs, into which these were submitted."""
    submissions = [
        {
            "number": number,
            "transaction": f"t{number}",
            "target": target,
            "due_ns": ts(due),
            "offered_ns": ts(due, 3),
            "requested_ns": ts(due, 4),
            "acknowledged_ns": None,
        }
        for number, (due, target, _block) in enumerate(transactions)
    ]
    inclusions = [
        {"transaction": f"t{number}", "block": block_hash(block), "slot": 10 * int(block[1:]) + 4}
        for number, (_due, _target, block) in enumerate(transactions)
        if block
    ]
    tables = {
        "submissions": pa.Table.from_pylist(submissions, SUBMISSIONS_SCHEMA),
        "inclusions": pa.Table.from_pylist(inclusions, INCLUSIONS_SCHEMA),
    }
    here = MeasuredHere(machine_facts(), (5, 40), {}, {"measured": ["SlotGEq 5", "SlotLEq 40"]}, [], tables)
    return ingest(IngestRequest(logs=[str(written)], out=folder / "run"), lambda _done, _total: None, here)[0]


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Run:
    folder = tmp_path_factory.mktemp("submitted")
    return submitted(folder, logs(folder / "logs"), TRANSACTIONS)


def test_waits_are_counted_from_when_a_transaction_was_due(run: Run) -> None:
    with Analysis(run) as analysis:
        values = {
            metric: analysis.samples(metric).table["value"].to_pylist()
            for metric in ("submission_to_block", "submission_to_all_hosts", "submission_lateness", "transactions_lost")
        }
    assert values["submission_to_block"] == pytest.approx([9.06, 1.56, 10.06])
    assert values["submission_to_all_hosts"] == pytest.approx([9.4, 1.9, 10.4])
    assert values["submission_lateness"] == pytest.approx([0.003] * 5)
    assert values["transactions_lost"] == [0, 0, 100, 0]


def test_what_is_on_its_way_is_not_lost_and_a_block_that_a_host_lacks_is_not_everywhere(tmp_path: Path) -> None:
    transactions = (
        (5.0, "node-0", "b1"),
        (6.0, "node-1", ""),  # none of its target is in a block, though a later one of another target is
        (7.0, "node-0", "b2"),
        (8.0, "node-0", ""),  # the first after the last of its target
    )
    run = submitted(tmp_path, logs(tmp_path / "logs", lost=2), transactions)
    with Analysis(run) as analysis:
        for metric, values in {
            "submission_to_block": [9.06, 17.06],
            "submission_to_all_hosts": [9.4],
            "transactions_lost": [0, 0],
        }.items():
            assert analysis.samples(metric).table["value"].to_pylist() == pytest.approx(values), metric


def test_what_was_due_outside_the_measurement_is_left_out(run: Run) -> None:
    with Analysis(run) as analysis:
        assert [str(one) for one in analysis.filters] == ["SlotGEq 5", "SlotLEq 40"]
        assert analysis.relation("submitted")["number"].to_pylist() == [1, 2, 3, 4, 5]
    with Analysis(run, filters=[]) as analysis:
        assert analysis.relation("submitted").num_rows == len(TRANSACTIONS)


def test_runs_into_which_nothing_was_submitted_have_no_such_rows(run: Run, tmp_path: Path) -> None:
    without, _ = ingest(IngestRequest(logs=[str(logs(tmp_path / "logs", forged_ms=59.5))], out=tmp_path / "without"))
    with Analysis(without) as analysis:
        assert analysis.samples("submission_to_block").table.num_rows == 0
    shown = CliRunner().invoke(app, ["show", str(without.path)])
    assert shown.exit_code == 0, shown.output
    rows, found, unrecorded = shown.output.partition("Not recorded: ")
    assert found
    assert "Submission" not in rows
    assert "Submission to block" in " ".join(unrecorded.split())
    compared = CliRunner().invoke(app, ["compare", str(without.path), str(run.path), "--filter", "none"])
    assert compared.exit_code == 0, compared.output
    assert "has 'Submission to block', and without does not: they are not compared in it." in " ".join(
        compared.output.split()
    )


def test_what_the_profile_would_analyse_later_than_the_run_lasted_gives_way_to_the_measurement(tmp_path: Path) -> None:
    filters = [
        {"tag": "CSlot", "contents": {"tag": "EpochGEq", "contents": 2}},
        {"tag": "CSlot", "contents": {"tag": "SlotGEq", "contents": 7}},
    ]
    here = MeasuredHere(machine_facts(), (5, 40), {}, {"measured": ["SlotGEq 5", "SlotLEq 40"]}, [], {})
    asked = logs(tmp_path / "logs", filters=filters)
    live, _ = ingest(IngestRequest(logs=[str(asked)], out=tmp_path / "live"), lambda _done, _total: None, here)
    (warning,) = [one for one in live.manifest.warnings if one.kind == "filters_left_out"]
    assert "before the slots that the profile's EpochGEq 2 would select; slots 5 to 40" in warning.text
    with Analysis(live) as analysis:
        assert [str(one) for one in analysis.filters] == ["SlotGEq 7", "SlotGEq 5", "SlotLEq 40"]
        assert analysis.samples("adopted_by_100").table.num_rows > 0
    imported, _ = ingest(IngestRequest(logs=[str(asked)], out=tmp_path / "imported"))
    assert [one.kind for one in imported.manifest.warnings].count("filters_left_out") == 1
    with Analysis(imported) as analysis:
        assert [str(one) for one in analysis.filters] == ["SlotGEq 7"]
        assert analysis.samples("adopted_by_100").table.num_rows > 0


def test_a_run_of_ones_own_has_the_versions_that_its_logs_tell_not_those_of_the_bed(tmp_path: Path) -> None:
    here = MeasuredHere(machine_facts(), (5, 40), {}, {}, [], {})
    asked = logs(tmp_path / "logs")
    live, _ = ingest(IngestRequest(logs=[str(asked)], out=tmp_path / "live"), lambda _done, _total: None, here)
    imported, _ = ingest(IngestRequest(logs=[str(asked)], out=tmp_path / "imported"))
    assert (imported.manifest.target.version, imported.manifest.target.toolchain) == ("10.5.0", "ghc 9.6.5")
    assert (live.manifest.target.version, live.manifest.target.commit, live.manifest.target.toolchain) == ("", "", "")
    assert not [name for name in live.manifest.versions if name.startswith("target")]
